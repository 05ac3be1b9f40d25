package typing_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/cli/typing"
)

// shown is what a terminal was sent.
type shown struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// scene is a keyboard at which a test types.
type scene struct {
	*typing.Keyboard
	hands *io.PipeWriter
	shown *shown
}

func newScene(t *testing.T) scene {
	t.Helper()
	in, hands := io.Pipe()
	t.Cleanup(func() { hands.Close() })
	out := &shown{}
	return scene{typing.New(in, out), hands, out}
}

func (s scene) types(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.hands, text); err != nil {
		t.Fatal(err)
	}
}

// line types when a line is asked for, and is what was read.
func (s scene) line(t *testing.T, typed string) (string, error) {
	t.Helper()
	go func() {
		if eventually(func() bool { return strings.Contains(s.shown.String(), "> ") }) {
			_, _ = io.WriteString(s.hands, typed)
		}
	}()
	return s.Line(context.Background(), "> ")
}

func eventually(ok func() bool) bool {
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

const (
	up, down, left, home = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[H"
	paste, pasted        = "\x1b[200~", "\x1b[201~"
)

func TestLinesAreEdited(t *testing.T) {
	for name, test := range map[string]struct{ typed, want string }{
		"plain":                    {"hello\r", "hello"},
		"a letter within":          {"helo" + left + "l\r", "hello"},
		"at the beginning":         {"ello" + home + "h\r", "hello"},
		"deleted":                  {"hellp\x7fo\r", "hello"},
		"history":                  {up + "\r", "second"},
		"history twice":            {up + up + "\r", "first"},
		"history and back":         {"new" + up + down + "\r", "new"},
		"history of many lines":    {up + up + up + "\r", "one\n\ttwo"},
		"cleared by Ctrl-C":        {"wrong\x03right\r", "right"},
		"cleared from its middle":  {"wrong" + left + left + "\x03right\r", "right"},
		"pasted, of many lines":    {paste + "a\r\nb\n\tc\rd" + pasted + "\r", "a\nb\n\tc\nd"},
		"pasted into a typed line": {"see: " + paste + "a\nb" + pasted + "!\r", "see: a\nb!"},
		"pasted commands":          {paste + "\x03\x04\x1b[A" + pasted + "\r", "[A"},
		"a broken mark of a paste": {"\x1b[20" + paste + "x\ny" + pasted + "\r", "x\ny"},
		"letters of many bytes":    {"日本 Zoë 🙂\r", "日本 Zoë 🙂"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			for _, line := range []string{"one\n\ttwo", "first", "second", "second", ""} {
				s.Remember(line)
			}
			got, err := s.line(t, test.typed)
			if err != nil || got != test.want {
				t.Errorf("%q is read as %q, %v; want %q", test.typed, got, err, test.want)
			}
		})
	}
}

func TestSecondCtrlCLeaves(t *testing.T) {
	s := newScene(t)
	ended := make(chan error, 1)
	go func() { _, err := s.line(t, "half\x03"); ended <- err }()
	if !eventually(func() bool { return strings.Contains(s.shown.String(), "again leaves") }) {
		t.Fatalf("the first says nothing: %q", s.shown)
	}
	s.types(t, "\x03")
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("the second ends the line with %v", err)
	}
}

func TestCtrlCsWithSomethingBetweenThemDoNotLeave(t *testing.T) {
	s := newScene(t)
	if got, err := s.line(t, "a\x03b\x03c\x03d\r"); err != nil || got != "d" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCtrlDLeavesAnEmptyLine(t *testing.T) {
	s := newScene(t)
	if _, err := s.line(t, "\x04"); !errors.Is(err, io.EOF) {
		t.Errorf("ends with %v", err)
	}
}

func TestCtrlCWithoutALineIsForTheAnswer(t *testing.T) {
	s := newScene(t)
	s.types(t, "\x03")
	<-s.Interrupts()
	// What is typed ahead is the next line, and a Ctrl-C that came too late is nobody's.
	s.types(t, "next\x03\x03\x03\r")
	if !eventually(func() bool { return len(s.Interrupts()) == 2 }) {
		t.Fatalf("%d wait", len(s.Interrupts()))
	}
	if got, err := s.Line(context.Background(), "> "); err != nil || got != "next" {
		t.Errorf("%q, %v", got, err)
	}
	if len(s.Interrupts()) != 0 {
		t.Error("an interrupt outlives what it was for")
	}
}

func TestLineEndsWithItsContext(t *testing.T) {
	s := newScene(t)
	ctx, cancel := context.WithCancel(t.Context())
	context.AfterFunc(t.Context(), cancel)
	go func() {
		eventually(func() bool { return strings.Contains(s.shown.String(), "> ") })
		cancel()
	}()
	if _, err := s.Line(ctx, "> "); !errors.Is(err, io.EOF) {
		t.Errorf("ends with %v", err)
	}
}

func TestLineEndsWithTheTerminal(t *testing.T) {
	s := newScene(t)
	s.hands.Close()
	if _, err := s.Line(context.Background(), "> "); !errors.Is(err, io.EOF) {
		t.Errorf("ends with %v", err)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x03b\r"))
	f.Add([]byte(paste + "x\r\n" + pasted + "\r"))
	f.Add([]byte("\x1b\x1b[200\x1b[201~\x04"))
	f.Fuzz(func(t *testing.T, typed []byte) {
		// Whatever is typed, however it arrives, a line ends, and holds no key that is a command.
		k := typing.New(bytes.NewReader(typed), io.Discard)
		for range 100 {
			line, err := k.Line(context.Background(), "> ")
			if strings.ContainsAny(line, "\x00\x03\x04\x1b\r") {
				t.Fatalf("%q is read as %q", typed, line)
			}
			if err != nil {
				return
			}
		}
	})
}
