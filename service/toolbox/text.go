package toolbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
)

const (
	maxLine = 2000    // bytes of a line that a model is shown
	maxText = 1 << 20 // bytes of a file that is held whole
	sniffed = 8 << 10 // bytes by which a text is known
)

// textLine is one of a text, without its end.
type textLine struct {
	number int // from 1
	text   string
	long   bool // it goes on
}

func (l textLine) shown() string {
	if l.long {
		return l.text + "… (the line goes on)"
	}
	return l.text
}

// linesOf reads a text line by line, however long they are. It ends with ctx.
func linesOf(ctx context.Context, r *bufio.Reader) iter.Seq2[textLine, error] {
	return func(yield func(textLine, error) bool) {
		for n := 1; ; n++ {
			if ctx.Err() != nil {
				yield(textLine{}, ctx.Err())
				return
			}
			text, long, err := readLine(r)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(textLine{n, text, long}, err) || err != nil {
				return
			}
		}
	}
}

// readLine reads to the end of a line and keeps the beginning of it.
func readLine(r *bufio.Reader) (text string, long bool, err error) {
	var kept []byte
	for more := true; more; {
		var piece []byte
		if piece, more, err = r.ReadLine(); err != nil {
			return "", false, err
		}
		room := maxLine - len(kept)
		if long = long || len(piece) > room; room > 0 {
			kept = append(kept, piece[:min(len(piece), room)]...)
		}
	}
	return string(kept), long, nil
}

// textOf is a file that is open for reading as text. What is no text is refused.
func textOf(f *project.Content) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(f, sniffed)
	head, err := r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !isText(head, len(head) < sniffed) {
		return nil, fault.Invalid("This file is no text: %d bytes of something else.", f.Bytes)
	}
	return r, nil
}

// isText reports whether bytes are text: UTF-8 without zeros, of which the last character may be missing a part.
func isText(head []byte, whole bool) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	for range utf8.UTFMax {
		if utf8.Valid(head) {
			return true
		}
		if whole || len(head) == 0 {
			return false
		}
		head = head[:len(head)-1]
	}
	return false
}

// whole reads all of a text that is short enough to be held.
func whole(f *project.Content) (string, error) {
	if f.Bytes > maxText {
		return "", fault.Invalid("The file has %d bytes: at most %d can be edited.", f.Bytes, maxText)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return "", fmt.Errorf("read file: %w", err)
	}
	if !isText(text, true) {
		return "", fault.Invalid("This file is no text.")
	}
	return string(text), nil
}
