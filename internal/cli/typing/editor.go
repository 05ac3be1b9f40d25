package typing

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// editor shows a line while it is edited, and what others write above it.
type editor struct {
	mu     sync.Mutex
	out    io.Writer
	size   size
	prompt string
	line   draft
	past   past
	typed  []byte // and not done yet

	asking bool   // a line is shown
	drawn  layout // what is shown of it
}

// size is that of a terminal.
type size struct{ columns, rows int }

func newEditor(out io.Writer) *editor { return &editor{out: out, size: size{80, 24}} }

// edit asks for a line, and takes keys until it has ended. The error is io.EOF where whoever types wants to leave.
func (e *editor) edit(prompt string, keys io.Reader) (text string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.prompt, e.line, e.asking, e.drawn = prompt, draft{}, true, layout{}
	e.past.begin()
	e.draw()
	buffer := make([]byte, 64<<10)
	for {
		ended, err := e.take()
		if ended || err != nil {
			return e.end(err)
		}
		e.mu.Unlock()
		n, err := keys.Read(buffer)
		e.mu.Lock()
		e.typed = append(e.typed, buffer[:n]...)
		if err != nil {
			return e.end(err)
		}
	}
}

// take does what was typed, and shows the line as it is then. It reports whether the line has ended.
func (e *editor) take() (ended bool, err error) {
	did := false
	for key := stroke(e.typed); key != ""; key = stroke(e.typed) {
		e.typed = e.typed[len(key):]
		switch {
		case key == "\r" && len(e.typed) > 0 && e.typed[0] == '\n':
			e.typed = e.typed[1:]
			return true, nil
		case key == "\r", key == "\n":
			return true, nil
		case key == "\x04" && e.line.isEmpty():
			return false, io.EOF
		}
		e.press(key)
		did = true
	}
	if did {
		e.draw()
	}
	return false, nil
}

// press does one key. What is neither text nor known is nothing.
func (e *editor) press(key string) {
	if do := strokes[key]; do != nil {
		do(e)
		return
	}
	if r, _ := utf8.DecodeRuneInString(key); isLetter(r) {
		e.line.insert(key)
	}
}

// end leaves the line as it is, and goes below it. What was not sent is not returned.
func (e *editor) end(err error) (string, error) {
	text := e.line.text()
	e.line.end()
	e.draw()
	e.asking = false
	e.put("\r\n")
	if err != nil {
		return "", err
	}
	e.past.add(text)
	return text, nil
}

func (e *editor) older() { e.recall(e.past.older(e.line.text())) }
func (e *editor) newer() { e.recall(e.past.newer()) }

func (e *editor) recall(text string, found bool) {
	if found {
		e.line.set(text)
	}
}

func (e *editor) clearScreen() {
	e.put("\x1b[H\x1b[2J")
	e.drawn = layout{}
}

// draw shows the line anew.
func (e *editor) draw() {
	next := lay(e.prompt, e.line, e.size)
	e.put(e.drawn.back() + next.paint())
	e.drawn = next
}

// put writes. A terminal that is gone is told by its keys.
func (e *editor) put(text string) { _, _ = io.WriteString(e.out, text) }

// Write shows something above the line, or where there is none, below what was shown before.
func (e *editor) Write(text []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	if !e.asking {
		_, err := e.out.Write(lines)
		return len(text), err
	}
	end := ""
	if !bytes.HasSuffix(text, []byte("\n")) {
		end = "\r\n"
	}
	e.put(e.drawn.back() + "\x1b[J" + string(lines) + end)
	e.drawn = layout{}
	e.draw()
	return len(text), nil
}

// Fit says how large the terminal is. One that became narrower has broken the rows that it showed.
func (e *editor) Fit(columns, rows int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	to := size{columns, rows}
	if columns < 1 || rows < 1 || to == e.size {
		return
	}
	e.size = to
	if e.asking {
		e.drawn = e.drawn.broken(to.columns)
		e.put(e.drawn.back() + "\x1b[J")
		e.drawn = layout{}
		e.draw()
	}
}

// past is what was typed before, the newest last.
type past struct {
	lines []string
	at    int    // which of them is shown; len(lines): the one that is being typed
	typed string // that one
}

// longest is how many lines are remembered.
const longest = 1000

// add remembers a line. What is empty or comes twice is remembered once at most.
func (p *past) add(text string) {
	if strings.TrimSpace(text) == "" || len(p.lines) > 0 && p.lines[len(p.lines)-1] == text {
		return
	}
	p.lines = append(p.lines, text)
	if len(p.lines) > longest {
		p.lines = p.lines[1:]
	}
}

func (p *past) begin() { p.at, p.typed = len(p.lines), "" }

// older is the line before the one that is shown.
func (p *past) older(shown string) (string, bool) {
	if p.at == 0 {
		return "", false
	}
	if p.at == len(p.lines) {
		p.typed = shown
	}
	p.at--
	return p.lines[p.at], true
}

// newer is the line behind the one that is shown, at last the one that is being typed.
func (p *past) newer() (string, bool) {
	if p.at == len(p.lines) {
		return "", false
	}
	if p.at++; p.at == len(p.lines) {
		return p.typed, true
	}
	return p.lines[p.at], true
}
