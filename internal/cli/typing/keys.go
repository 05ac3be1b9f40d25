package typing

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Keys as a terminal sends them in its raw mode.
const (
	ctrlC = 0x03
	ctrlE = 0x05 // to the end of the line
	ctrlU = 0x15 // delete what stands before the cursor
)

var (
	pasteBegins = []byte("\x1b[200~")
	pasteEnds   = []byte("\x1b[201~")
)

// What a line shows in the place of what would break it. A person can paste a text of many lines, see it as one, and send it whole.
const (
	shownBreak = "␤"
	shownTab   = "␉"
)

var (
	shown = strings.NewReplacer("\r\n", shownBreak, "\n", shownBreak, "\r", shownBreak, "\t", shownTab)
	meant = strings.NewReplacer(shownBreak, "\n", shownTab, "\t")
)

// most is how much may be typed ahead; what is more is dropped.
const most = 1 << 20

// keys are what was typed and not read yet. Ctrl-C goes past the line: to those who wait for an answer, or it clears the line, and
// pressed twice it ends it.
type keys struct {
	mu      sync.Mutex
	arrived sync.Cond
	waiting []byte
	ended   error // no more will come

	editing bool // somebody edits a line
	pressed bool // the last key was Ctrl-C
	left    bool // Ctrl-C was pressed twice

	held    []byte // the beginning of what may be a mark of a paste
	pasting bool
	broke   bool // the last that was pasted is a carriage return

	interrupts chan struct{}
	hint       func()
}

func newKeys(hint func()) *keys {
	k := &keys{interrupts: make(chan struct{}, 2), hint: hint}
	k.arrived.L = &k.mu
	return k
}

// pump reads keys until there are none.
func (k *keys) pump(from io.Reader) {
	var buffer [4096]byte
	for {
		n, err := from.Read(buffer[:])
		k.mu.Lock()
		for _, key := range buffer[:n] {
			k.press(key)
		}
		if err != nil {
			k.ended = err
		}
		k.arrived.Broadcast()
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// press takes one byte.
func (k *keys) press(key byte) {
	k.held = append(k.held, key)
	switch {
	case bytes.Equal(k.held, pasteBegins), bytes.Equal(k.held, pasteEnds):
		k.pasting, k.broke = bytes.Equal(k.held, pasteBegins), false
		k.add(k.held...)
		k.held = nil
		return
	case bytes.HasPrefix(pasteBegins, k.held), bytes.HasPrefix(pasteEnds, k.held):
		return
	}
	held := k.held
	k.held = nil
	for i, key := range held {
		// What comes after a mark that turned out to be none may begin one.
		if i > 0 && key == pasteBegins[0] {
			k.press(key)
			continue
		}
		k.take(key)
	}
}

func (k *keys) take(key byte) {
	switch {
	case k.pasting:
		k.paste(key)
	case key == ctrlC:
		k.interrupt()
		return
	default:
		k.add(key)
	}
	k.pressed = false
}

// paste adds what was not typed: none of it is a command.
func (k *keys) paste(key byte) {
	again := key == '\n' && k.broke
	switch k.broke = key == '\r'; {
	case again:
	case key == '\n' || key == '\r':
		k.add([]byte(shownBreak)...)
	case key == '\t':
		k.add([]byte(shownTab)...)
	case key >= ' ' && key != 0x7f:
		k.add(key)
	}
}

func (k *keys) interrupt() {
	if !k.editing {
		select {
		case k.interrupts <- struct{}{}:
		default: // two wait already
		}
		return
	}
	if k.pressed {
		k.left = true
		return
	}
	k.pressed = true
	k.add(ctrlE, ctrlU)
	go k.hint() // it writes, which the reader of keys may be about to
}

func (k *keys) add(typed ...byte) {
	if len(k.waiting)+len(typed) <= most {
		k.waiting = append(k.waiting, typed...)
	}
}

// Read gives what was typed, when something was.
func (k *keys) Read(into []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.waiting) == 0 || k.left {
		if k.left {
			return 0, io.EOF
		}
		if k.ended != nil {
			return 0, k.ended
		}
		k.arrived.Wait()
	}
	n := copy(into, k.waiting)
	k.waiting = k.waiting[n:]
	return n, nil
}

// edit says that a line is edited from now on, or no more.
func (k *keys) edit(on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.editing, k.pressed, k.left = on, false, false
	for on && len(k.interrupts) > 0 {
		<-k.interrupts // it was for an answer that has ended
	}
}

// leave ends the line that is edited.
func (k *keys) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = k.editing
	k.arrived.Broadcast()
}
