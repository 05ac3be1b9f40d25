package stream

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// crumbs is a reader that gives little at a time, as a network does.
type crumbs struct{ io.Reader }

func (c crumbs) Read(p []byte) (int, error) { return c.Reader.Read(p[:min(len(p), 1400)]) }

// TestALongLineIsReadInOnePass reads events whose size costs minutes where a line is looked through again with each part of it.
func TestALongLineIsReadInOnePass(t *testing.T) {
	const size = 24 << 20
	for name, text := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", size) + "\n\n",
		"a comment":  ": " + strings.Repeat("x", size) + "\ndata: x\n\n",
		"many lines": strings.Repeat("data: x\n", size/8) + "\n",
	} {
		began, events := time.Now(), 0
		for _, err := range Events(crumbs{strings.NewReader(text)}) {
			if err != nil {
				t.Fatal(name, err)
			}
			events++
		}
		if took := time.Since(began); took > 10*time.Second || events != 1 {
			t.Errorf("%s: %d events after %v", name, events, took)
		}
	}
}

// TestAnEventBeyondTheLimitIsRefused bounds a line, and lines that are one event together.
func TestAnEventBeyondTheLimitIsRefused(t *testing.T) {
	const most = 5000
	for name, text := range map[string]string{
		"one line":   "data:" + strings.Repeat("x", most) + "\n\n",
		"many lines": strings.Repeat("data:"+strings.Repeat("x", 99)+"\n", most/100+1) + "\n",
		"a comment":  ":" + strings.Repeat("x", most) + "\n\n",
	} {
		var last error
		for e, err := range EventsWithin(strings.NewReader("data:first\n\n"+text), most) {
			if last = err; err == nil && string(e.Data) != "first" {
				t.Errorf("%s: an event of %d bytes", name, len(e.Data))
			}
		}
		if !errors.Is(last, ErrEventTooLarge) {
			t.Errorf("%s: ended with %v", name, last)
		}
	}
}
