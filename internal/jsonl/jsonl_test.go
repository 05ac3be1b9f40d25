package jsonl_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/jsonl"
)

// endless is a string that has no end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLinesComeOneAfterTheOther(t *testing.T) {
	var got []int
	var all int64
	text := "1\n 2\n\n3"
	err := jsonl.Each(strings.NewReader(text), func(n int, bytes int64) error {
		got, all = append(got, n), all+bytes
		return nil
	})
	if err != nil || !slices.Equal(got, []int{1, 2, 3}) || all != int64(len(text)) {
		t.Errorf("%v of %d bytes, %v", got, all, err)
	}
	for name, from := range map[string]io.Reader{
		"cut off":  strings.NewReader(`1 "two`),
		"another":  strings.NewReader(`1 {}`),
		"too long": io.MultiReader(strings.NewReader(`1 "`), endless{}),
	} {
		if err := jsonl.Each(from, func(int, int64) error { return nil }); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
