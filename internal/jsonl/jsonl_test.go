package jsonl_test

import (
	"bytes"
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

// TestWhatIsWrittenIsRead writes a body that is as long as limits.body lets in by default, and one that no line holds.
func TestWhatIsWrittenIsRead(t *testing.T) {
	var b bytes.Buffer
	to := jsonl.NewEncoder(&b)
	long := make([]byte, 64<<20)
	if err := to.Encode(long); err != nil {
		t.Fatal(err)
	}
	err := jsonl.Each(&b, func(got []byte, _ int64) error {
		if len(got) != len(long) {
			t.Errorf("%d bytes are read", len(got))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := to.Encode(make([]byte, jsonl.Most/4*3)); err == nil || !strings.Contains(err.Error(), "no import reads one of more than 128") || b.Len() > 0 {
		t.Errorf("%d bytes are written, %v", b.Len(), err)
	}
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
