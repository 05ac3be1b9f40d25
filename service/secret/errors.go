package secret

import (
	"errors"

	"svc.dev/svc/fault"
)

// The types of faults that only this room raises.
const (
	TooLarge   = "secret_too_large"
	Unreadable = "secret_unreadable"
)

var (
	// ErrNotFound says that the owner has no secret of that name.
	ErrNotFound = errors.New("secret not found")
	// ErrVersion says that the secret has another version than was expected. It stands behind a fault version_conflict
	// whose meta has the version there is, 0 for none.
	ErrVersion = errors.New("secret has another version")
	// ErrKeyMismatch says that ring and database do not belong together; its text is for the operator.
	ErrKeyMismatch = errors.New("secret_store_key_mismatch")
	// ErrKeyInUse says that a ring lacks a key that values still need, or the one that is active here.
	ErrKeyInUse = errors.New("key is in use")
	// ErrBox says that a sealed box was changed, cut, or made for something else.
	ErrBox = errors.New("sealed box does not open")
)

func versionConflict(have int64) error {
	return fault.New(fault.VersionConflict, "The secret was changed meanwhile.", "Read its version and try again.").
		With("version", have).Because(ErrVersion)
}

// unreadable is the error of a value that does not open, and the alarm: whoever asked may be somebody who tells nobody.
func (s *Store) unreadable(o Owner, name, id string, cause error) error {
	s.config.Log.Error("secret is unreadable", "owner", o.Kind, "scope", o.Scope, "name", name, "id", id, "error", cause)
	return fault.New(Unreadable, "The secret cannot be read.", "Replace its value, or tell the operator.").Because(cause)
}
