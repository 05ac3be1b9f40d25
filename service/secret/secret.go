// Package secret seals what must not be read from a stolen database, and hides what is carried in memory from what is printed.
//
// Each version of a secret has a key of its own (DEK), which is wrapped by a key of the ring (KEK); whoever has the
// database alone has nothing, and a row that is moved, changed or taken from an earlier version does not open. Only the
// current version is kept: readers hold a copy of what they opened, so nobody needs the one before.
package secret

import (
	"fmt"
	"io"
	"log/slog"

	"svc.dev/svc/service/redact"
)

// Secret is a text that prints as [redacted] wherever it is printed. The zero value is the empty text. It cannot be
// compared with ==.
type Secret struct {
	// A func has no inside for fmt and reflection, which do not ask the methods of a field that is not exported.
	reveal func() string
}

// Hide makes a Secret of a text.
func Hide(value string) Secret { return Secret{func() string { return value }} }

// Reveal is the text itself.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String is [redacted].
func (s Secret) String() string { return redact.Placeholder }

// Format writes [redacted] for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redact.Placeholder) }

// MarshalJSON is "[redacted]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redact.Placeholder + `"`), nil }

// MarshalText is [redacted].
func (s Secret) MarshalText() ([]byte, error) { return []byte(redact.Placeholder), nil }

// LogValue is [redacted].
func (s Secret) LogValue() slog.Value { return slog.StringValue(redact.Placeholder) }
