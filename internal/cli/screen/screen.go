// Package screen is how words reach a person: clean of what a terminal would obey, in colours where there are any, in columns, and
// with progress where somebody looks.
package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
)

// IsTerminal reports whether somebody looks at what is written, or types what is read.
func IsTerminal(of any) bool {
	f, ok := of.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width is how many columns a terminal has; 80 where nobody knows.
func Width(of any) int {
	if f, ok := of.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// Style is how words look. The zero value is plain.
type Style struct{ colours bool }

// StyleOf is how words look that are written there: in colours on a terminal that has some, unless NO_COLOR says otherwise.
func StyleOf(w io.Writer) Style {
	return Style{IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s Style) paint(code, text string) string {
	if !s.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for what is looked for first.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for what is beside the point.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Bad is for what went wrong.
func (s Style) Bad(text string) string { return s.paint("31", text) }

// Good is for what went well.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Clean is a text without what a terminal would obey: others wrote it, and it may want to move the cursor, change the title or the
// order of letters. Line breaks and tabs stay.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return -1
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c:
			return -1
		}
		return r
	}, text)
}

// Line is a clean text on one line.
func Line(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Cut is a line of at most so many letters.
func Cut(text string, most int) string {
	if text = Line(text); utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(0, most-1)]) + "…"
}

// Table writes rows in columns, below their names.
func Table(w io.Writer, columns []string, rows [][]string) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{columns}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Line(cell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// Bytes is a size as people say it.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, names := float64(n)/unit, "KMGTPE"
	for size >= unit && len(names) > 1 {
		size, names = size/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %ciB", size, names[0])
}
