package screen_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode"

	"svc.dev/svc/internal/cli/screen"
)

func TestTerminalObeysNobodyElse(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext":          "plain\n\ttext",
		"\x1b[2Jgone":            "[2Jgone",
		"\x1b]0;title\x07x":      "]0;titlex",
		"back\rward":             "backward",
		"a\x7fb\u009bc":          "abc",
		"\u202eesrever\u2066":    "esrever",
		"Zoë, 日本, 🙂 stay":        "Zoë, 日本, 🙂 stay",
		"\xff\xfe is no letter":  "\ufffd\ufffd is no letter",
		"null\x00, bell\a, \b\v": "null, bell, ",
	} {
		if got := screen.Clean(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\u202e")
	f.Add("00\u0733000") // a mark above the letter before it: six characters in five columns
	f.Fuzz(func(t *testing.T, text string) {
		clean := screen.Clean(text)
		if strings.ContainsFunc(clean, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("%q is shown as %q", text, clean)
		}
		if screen.Clean(clean) != clean || screen.Columns(screen.Cut(text, 5)) > 5 {
			t.Fatalf("%q: %q, %q", text, clean, screen.Cut(text, 5))
		}
	})
}

func TestNobodyLooksAtABuffer(t *testing.T) {
	var out, aside bytes.Buffer
	p := screen.NewProgress(&aside)
	p.Show("%d of 3", 1)
	p.Say(&out, "put a")
	p.Done()
	if out.String() != "put a\n" || aside.Len() > 0 || screen.StyleOf(&out).Bold("x") != "x" {
		t.Errorf("said %q, shown %q", out.String(), aside.String())
	}
}

func TestTableHasALineForEachRow(t *testing.T) {
	var out bytes.Buffer
	screen.Table(&out, []string{"NAME", "WHAT IT IS"}, [][]string{{"a", "one\nline\x1b[0m"}, {"longer", ""}})
	if want := "NAME    WHAT IT IS\na       one line[0m\nlonger\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestSizesAsPeopleSayThem(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8.0 EiB"} {
		if got := screen.Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// TestCleaningIsCleanWhereverATextIsCut writes a text in two pieces, cut at every byte.
func TestCleaningIsCleanWhereverATextIsCut(t *testing.T) {
	const text = "a\x1b[2Jb\u009b31mc\u202ed €😀\tend\n"
	for cut := range len(text) {
		var b strings.Builder
		w := screen.Cleaning(&b)
		for _, piece := range []string{text[:cut], text[cut:]} {
			if n, err := io.WriteString(w, piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if b.String() != screen.Clean(text) {
			t.Errorf("cut at %d it is %q", cut, b.String())
		}
	}
}
