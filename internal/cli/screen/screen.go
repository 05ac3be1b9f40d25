// Package screen is how words reach a person: clean of what a terminal would obey, in colours where there are any, in columns, and
// with progress where somebody looks.
package screen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"svc.dev/svc/internal/command"
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
		if command.Obeyed(r) {
			return -1
		}
		return r
	}, text)
}

// Cleaning writes a clean text, piece by piece.
func Cleaning(w io.Writer) io.Writer {
	return transform.NewWriter(w, runes.Remove(runes.Predicate(command.Obeyed)))
}

// Line is a clean text on one line.
func Line(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Cut is a line of at most so many columns.
func Cut(text string, most int) string {
	if text = Line(text); Columns(text) <= most {
		return text
	}
	end, columns := 0, 1 // for the mark of what is left out
	for letter, width := range Letters(text) {
		if columns += width; columns > most {
			break
		}
		end += len(letter)
	}
	if most < 1 {
		return ""
	}
	return text[:end] + "…"
}

// between is how far columns of a table are apart.
const between = "  "

// Table writes rows in columns, below their names.
func Table(w io.Writer, columns []string, rows [][]string) {
	widths := make([]int, len(columns))
	all := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{columns}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Line(cell)
			widths[i] = max(widths[i], Columns(cells[i]))
		}
		all = append(all, cells)
	}
	for _, cells := range all {
		line := ""
		for i, cell := range cells {
			line += cell + strings.Repeat(" ", widths[i]-Columns(cell)) + between
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
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
