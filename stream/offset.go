// Package stream is the protocol by which every stream is read: offsets, pages, header names, frames. It knows both
// ends, the server's and the client's, and nothing of what a stream means.
package stream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Offset is a resume-after token: the place of the last item that a reader has seen. Items are numbered from 0 without
// holes; Start is before the first.
type Offset int64

// Start is the place before the first item.
const Start Offset = -1

// Tail is no place of its own: as a request it stands for wherever the stream ends now. No item ever has it.
const Tail Offset = 1<<63 - 1

const sentinelStart, sentinelNow = "-1", "now"

// ErrOffset tells that a text is no offset.
var ErrOffset = errors.New("bad offset")

// String prints the offset as it stands in headers and frames.
func (o Offset) String() string {
	if o < 0 {
		return sentinelStart
	}
	return string(o.append(make([]byte, 0, 33)))
}

func (o Offset) append(dst []byte) []byte {
	if o < 0 {
		return append(dst, sentinelStart...)
	}
	return fmt.Appendf(dst, "%016d_%016d", 0, int64(o))
}

// Parse reads -1 or the printed form exactly, sixteen zeros and sixteen digits, and nothing else.
func Parse(s string) (Offset, error) {
	if s == sentinelStart {
		return Start, nil
	}
	rest, ok := strings.CutPrefix(s, "0000000000000000_")
	if !ok || len(rest) != 16 || !digits(rest) {
		return 0, ErrOffset
	}
	return parseSequence(rest)
}

// ParseLoose reads what run streams accept: -1, now (as Tail), or two numbers joined by an underscore, of which the
// second counts.
func ParseLoose(s string) (Offset, error) {
	switch s {
	case sentinelStart:
		return Start, nil
	case sentinelNow:
		return Tail, nil
	}
	first, second, ok := strings.Cut(s, "_")
	if !ok || !digits(first) || !digits(second) {
		return 0, ErrOffset
	}
	return parseSequence(second)
}

func parseSequence(s string) (Offset, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, ErrOffset
	}
	return Offset(n), nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
