package typing

import (
	"fmt"
	"regexp"
	"strings"

	"svc.dev/svc/internal/cli/screen"
)

// written is a row of a terminal, as far as it is written.
type written struct {
	text    string
	columns int
}

// layout is a line as a terminal shows it: its rows, and in which of them the cursor stands. The zero value is nothing yet.
type layout struct {
	rows   []written
	width  int
	cursor written // what stands before the cursor in its row; the text is not kept
	at     int     // the row of the cursor
}

// styles are what colours a prompt, which takes no room.
var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// lay breaks a line into rows, as a terminal would: a letter of two columns does not stand in the last one. Of a line with more
// rows than the terminal has, those around the cursor are laid.
func lay(prompt string, l draft, s size) layout {
	p := layout{width: max(s.columns, 2), rows: []written{{prompt, screen.Columns(styles.ReplaceAllString(prompt, ""))}}}
	p.add(l.before)
	p.wrap()
	p.at, p.cursor = len(p.rows)-1, p.rows[len(p.rows)-1]
	p.add(l.behind)
	p.wrap()
	first := max(0, min(p.at-s.rows/2, len(p.rows)-s.rows))
	p.rows = p.rows[first:min(len(p.rows), first+max(s.rows, 1))]
	p.at -= first
	return p
}

// add writes a text into rows.
func (p *layout) add(text string) {
	for letter, columns := range screen.Letters(text) {
		last := &p.rows[len(p.rows)-1]
		if last.columns+columns > p.width {
			p.rows = append(p.rows, written{letter, columns})
			continue
		}
		last.text += letter
		last.columns += columns
	}
}

// wrap begins a row behind one that is full: a cursor cannot stand behind the last column.
func (p *layout) wrap() {
	if p.rows[len(p.rows)-1].columns >= p.width {
		p.rows = append(p.rows, written{})
	}
}

// back goes from the cursor to where the layout begins.
func (p layout) back() string {
	switch {
	case len(p.rows) == 0:
		return ""
	case p.at == 0:
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", p.at)
}

// paint shows the layout from where it begins, erases what stood there before, and puts the cursor into its place.
func (p layout) paint() string {
	var b strings.Builder
	for i, r := range p.rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(r.text)
		// In a full row the cursor waits on its last letter, which would be erased.
		if r.columns < p.width {
			b.WriteString("\x1b[K")
		}
	}
	b.WriteString("\x1b[J")
	if up := len(p.rows) - 1 - p.at; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r")
	if p.cursor.columns > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", p.cursor.columns)
	}
	return b.String()
}

// broken is the layout as a terminal shows it that has become narrower, and broke its rows.
func (p layout) broken(width int) layout {
	at := 0
	for i, r := range p.rows {
		if i == p.at {
			break
		}
		at += max(1, (r.columns+width-1)/width)
	}
	if len(p.rows) > 0 {
		at += p.cursor.columns / width
	}
	p.at = at
	return p
}
