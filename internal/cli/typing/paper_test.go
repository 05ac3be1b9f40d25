package typing_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// paper is a terminal as far as lines are edited on it. How wide a letter is it learns from golang.org/x/text, and not from what is
// tested.
type paper struct {
	rows    [][]string // a letter of two columns has an empty cell behind it
	width   int
	x, y    int
	waiting bool // the last column is written, and the next letter goes to the next row
}

var commands = regexp.MustCompile("^\x1b\\[([?0-9;]*)([A-Za-z])")

// printed is what a terminal shows that was sent a text.
func printed(columns int, text string) *paper {
	p := &paper{width: columns, rows: [][]string{nil}}
	for text != "" {
		if m := commands.FindStringSubmatch(text); m != nil {
			p.obey(m[1], m[2])
			text = text[len(m[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		p.put(r)
		text = text[size:]
	}
	return p
}

func (p *paper) row() *[]string {
	for len(p.rows) <= p.y {
		p.rows = append(p.rows, nil)
	}
	return &p.rows[p.y]
}

func (p *paper) put(r rune) {
	switch {
	case r == '\r':
		p.x, p.waiting = 0, false
		return
	case r == '\n':
		p.y, p.waiting = p.y+1, false
		p.row()
		return
	case unicode.Is(unicode.Mn, r):
		row, at := p.row(), p.x-1
		for at > 0 && (*row)[at] == "" {
			at--
		}
		(*row)[at] += string(r)
		return
	}
	cells := 1
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		cells = 2
	}
	if p.waiting || p.x+cells > p.width {
		p.x, p.y, p.waiting = 0, p.y+1, false
	}
	row := p.row()
	for len(*row) < p.x+cells {
		*row = append(*row, " ")
	}
	(*row)[p.x] = string(r)
	if cells == 2 {
		(*row)[p.x+1] = ""
	}
	if p.x += cells; p.x == p.width {
		p.x, p.waiting = p.width-1, true
	}
}

func (p *paper) obey(argument, command string) {
	n, err := strconv.Atoi(argument)
	if err != nil {
		n = 1
	}
	switch p.waiting = false; command {
	case "A":
		p.y = max(0, p.y-n)
	case "C":
		p.x = min(p.width-1, p.x+n)
	case "H":
		p.x, p.y = 0, 0
	case "K", "J":
		if row := p.row(); len(*row) > p.x {
			*row = (*row)[:p.x]
		}
		if command == "J" && argument == "2" {
			p.rows = [][]string{nil}
		} else if command == "J" {
			p.rows = p.rows[:p.y+1]
		}
	}
}

// looks is the rows as they are seen, with a bar before the letter that the cursor stands on.
func (p *paper) looks() string {
	var all []string
	for y, row := range p.rows {
		text, x := "", 0
		for ; x < len(row); x++ {
			if y == p.y && x == p.x && !p.waiting {
				text += "|"
			}
			text += row[x]
		}
		if y == p.y && x <= p.x {
			text += strings.Repeat(" ", p.x-x) + "|"
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

const word = "日本語"

func TestCursorStandsBesideWideLetters(t *testing.T) {
	for name, test := range map[string]struct{ typed, looks string }{
		"nothing":                            {"", "> |"},
		"narrow":                             {"abc", "> abc|"},
		"wide":                               {word, "> 日本語|"},
		"within wide ones":                   {word + left + "x", "> 日本x|語"},
		"a wide one deleted":                 {word + left + "\x7f", "> 日|語"},
		"wide, from the beginning":           {word + home + "x", "> x|日本語"},
		"a picture":                          {"a🙂b" + left, "> a🙂|b"},
		"a picture deleted":                  {"a🙂b" + left + "\x7f", "> a|b"},
		"a mark on a letter":                 {"ze\u0301" + left, "> z|e\u0301"},
		"a letter with its mark deleted":     {"ze\u0301\x7f", "> z|"},
		"a row that is full":                 {"abcdefgh", "> abcdefgh\n|"},
		"a row that is full, and back":       {"abcdefgh" + left, "> abcdefg|h\n"},
		"a row that a wide one does not fit": {"abcdefg日", "> abcdefg\n日|"},
		"a row full of wide ones":            {"日本語日", "> 日本語日\n|"},
		"the second row":                     {"日本語日本語" + left, "> 日本語日\n本|語"},
		"back to the first row":              {"日本語日本語" + left + left + left + left + "x", "> 日本x|語\n日本語"},
		"a row that empties":                 {"abcdefghij\x7f\x7f\x7f\x7f", "> abcdef|"},
		"words":                              {"日本 語 ab" + "\x1bb\x1bb", "> 日本 |語 \nab"},
		"a word deleted":                     {"日本 語 \x17", "> 日本 |"},
		"the rest deleted":                   {word + left + left + "\x0b", "> 日|"},
		"the screen cleared":                 {word + left + "\x0c", "> 日本|語"},
		"history, longer and shorter":        {up + up + down, "> 短|"},
		"a line break that is meant":         {"日\x1b\r本", "> 日␤本|"},
		"half a letter":                      {"a\xe6\x97", "> a|"},
		"keys that nobody knows":             {"a\x1b[99~\x1b[1;9Z\x1bq\x1bOZ\x00\x1fb", "> ab|"},
		"arrows of another mode":             {"ab\x1bOD\x1b[1~x", "> x|ab"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Fit(10, 5)
			s.Remember("日本語日本語日本語")
			s.Remember("短")
			go func() { _, _ = s.Line(t.Context(), "> ") }()
			s.types(t, test.typed)
			if !eventually(func() bool { return printed(10, s.shown.String()).looks() == test.looks }) {
				t.Errorf("%q looks like\n%s\nwant\n%s\n%q", test.typed, printed(10, s.shown.String()).looks(), test.looks, s.shown)
			}
		})
	}
}

func TestLineStaysBelowWhatIsWritten(t *testing.T) {
	s := newScene(t)
	s.Fit(10, 5)
	go func() { _, _ = s.Line(t.Context(), "> ") }()
	s.types(t, "日本語日本"+left)
	looks := func(want string) {
		t.Helper()
		if !eventually(func() bool { return printed(10, s.shown.String()).looks() == want }) {
			t.Fatalf("looks like\n%s\nwant\n%s\n%q", printed(10, s.shown.String()).looks(), want, s.shown)
		}
	}
	looks("> 日本語日\n|本")
	if _, err := s.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	looks("one\ntwo\n> 日本語日\n|本")
	if _, err := s.Write([]byte("three")); err != nil {
		t.Fatal(err)
	}
	looks("one\ntwo\nthree\n> 日本語日\n|本")
}

// TestLineThatIsLongerThanItsTerminal shows the rows around the cursor, and sends all of it.
func TestLineThatIsLongerThanItsTerminal(t *testing.T) {
	s := newScene(t)
	s.Fit(10, 3)
	text := strings.Repeat("0123456789", 1000)
	got, err := s.line(t, text+left+left+"!\r")
	if want := text[:len(text)-2] + "!" + text[len(text)-2:]; err != nil || got != want {
		t.Errorf("%d letters, %v; want %d", len(got), err, len(want))
	}
	if rows := strings.Count(s.shown.String(), "\n"); rows > 50 {
		t.Errorf("%d rows are drawn", rows)
	}
}

func TestLineFitsAnotherSize(t *testing.T) {
	s := newScene(t)
	s.Fit(20, 5)
	go func() { _, _ = s.Line(t.Context(), "> ") }()
	s.types(t, word+word+left)
	if !eventually(func() bool { return strings.Contains(printed(20, s.shown.String()).looks(), "日本|語") }) {
		t.Fatalf("%q", s.shown)
	}
	before := len(s.shown.String())
	s.Fit(10, 5)
	// A terminal that became narrower has broken the row: the cursor is a row below its beginning now.
	if drawn := s.shown.String()[before:]; !strings.HasPrefix(drawn, "\r\x1b[1A\x1b[J> 日本語日") {
		t.Errorf("drawn %q", drawn)
	}
}
