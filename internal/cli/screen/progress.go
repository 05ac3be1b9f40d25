package screen

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// often is how long a line of progress stands at least: nobody reads faster.
const often = 100 * time.Millisecond

// Progress tells how far something is: on a terminal in one line that changes, elsewhere not at all. What is said meanwhile stands
// above it. Many may use it at once.
type Progress struct {
	mu    sync.Mutex
	aside io.Writer // where progress is seen; nil: nobody looks
	width int
	shown string
	at    time.Time
}

// NewProgress shows progress there, if that is a terminal.
func NewProgress(aside io.Writer) *Progress {
	p := &Progress{}
	if IsTerminal(aside) {
		p.aside, p.width = aside, Width(aside)
	}
	return p
}

// Show replaces the line of progress.
func (p *Progress) Show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aside == nil || time.Since(p.at) < often {
		return
	}
	p.shown, p.at = Cut(fmt.Sprintf(format, args...), p.width-1), time.Now()
	fmt.Fprintf(p.aside, "\r\x1b[K%s", p.shown)
}

// Say writes a line that stays.
func (p *Progress) Say(w io.Writer, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(w, line)
	if p.shown != "" {
		fmt.Fprint(p.aside, p.shown)
	}
}

// Done takes the line of progress away.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.shown = ""
}

func (p *Progress) clear() {
	if p.shown != "" {
		fmt.Fprint(p.aside, "\r\x1b[K")
	}
}
