// Package jsonl reads lines of JSON that come from elsewhere, and writes those that it reads.
package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Most is how long a line may be: half as long again as a body that limits.body lets in by default, in base64.
const Most = 128 << 20

// NewEncoder writes values as lines that Each reads. One that would be longer than Most is refused.
func NewEncoder(w io.Writer) *json.Encoder { return json.NewEncoder(lineWriter{w}) }

type lineWriter struct{ to io.Writer }

// Write is given a line at a time.
func (l lineWriter) Write(line []byte) (int, error) {
	if len(line) > Most {
		return 0, fmt.Errorf("a row takes a line of %d MiB, and no import reads one of more than %d", len(line)>>20, Most>>20)
	}
	return l.to.Write(line)
}

// Each gives every line to take, with how many bytes it had. What is no line of the kind, is cut off, or is longer than Most ends it.
func Each[T any](from io.Reader, take func(line T, bytes int64) error) error {
	limited := &io.LimitedReader{R: from}
	lines := json.NewDecoder(limited)
	for {
		before := lines.InputOffset()
		limited.N = Most // what is buffered comes on top
		var line T
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF) && limited.N == 0:
			return fmt.Errorf("a line is longer than %d MiB", Most>>20)
		case err != nil:
			return err
		}
		if err := take(line, lines.InputOffset()-before); err != nil {
			return err
		}
	}
}
