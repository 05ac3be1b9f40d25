// Package jsonl reads lines of JSON that come from elsewhere.
package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Most is how long a line may be: longer than any row that a service keeps.
const Most = 64 << 20

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
