// Package typing reads what a person types at a terminal, line by line, with history on the arrow keys, and knows a Ctrl-C that is
// meant for an answer from one that is meant for the line.
//
// Lines are edited by golang.org/x/term. It cannot tell Ctrl-C from Ctrl-D, and breaks a pasted text into lines; keys.go stands
// between the terminal and it for that.
package typing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// Keyboard is a terminal at which somebody types.
type Keyboard struct {
	keys    *keys
	screen  *term.Terminal
	out     io.Writer
	left    bool // no line is asked for any more
	restore func() error
	resized func()
}

// Hint is what the first Ctrl-C at an empty line says.
const Hint = "(Ctrl-C again leaves, and so does Ctrl-D)\n"

// New reads keys from one end and shows the line at the other. The terminal between them is in its raw mode.
func New(in io.Reader, out io.Writer) *Keyboard {
	k := &Keyboard{out: out, restore: func() error { return nil }, resized: func() {}}
	k.keys = newKeys(func() { _, _ = k.screen.Write([]byte(Hint)) })
	k.screen = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{k.keys, out}, "")
	k.screen.History = &past{}
	// The read of a terminal cannot be ended: it ends with the process.
	go k.keys.pump(in)
	return k
}

// Open puts a terminal into its raw mode until Close.
func Open(in, out *os.File) (*Keyboard, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	k := New(in, out)
	k.screen.SetBracketedPasteMode(true)
	fit := func() {
		if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			_ = k.screen.SetSize(width, height) // a line that is drawn wrongly is not worth an error
		}
	}
	fit()
	sizes, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(sizes, syscall.SIGWINCH)
	go func() {
		defer close(ended)
		for range sizes {
			fit()
		}
	}()
	k.resized = func() {
		signal.Stop(sizes)
		close(sizes)
		<-ended
	}
	k.restore = func() error {
		k.screen.SetBracketedPasteMode(false)
		return term.Restore(int(in.Fd()), before)
	}
	return k, nil
}

// Close gives the terminal back as it was.
func (k *Keyboard) Close() error {
	k.resized()
	return k.restore()
}

// Line asks for a line. The error is io.EOF when whoever types wants to leave, or the context ends.
func (k *Keyboard) Line(ctx context.Context, prompt string) (string, error) {
	k.keys.edit(true)
	defer k.keys.edit(false)
	defer context.AfterFunc(ctx, k.keys.leave)()
	k.screen.SetPrompt(prompt)
	line, err := k.screen.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	if err != nil {
		// The terminal would show the prompt again below all that is written from now on.
		k.left = true
		_, _ = io.WriteString(k.out, "\r\n")
	}
	return meant.Replace(line), err
}

// Write shows something above the line, or where there is none, below what was shown before.
func (k *Keyboard) Write(text []byte) (int, error) {
	if !k.left {
		return k.screen.Write(text)
	}
	_, err := k.out.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	return len(text), err
}

// Interrupts tells of each Ctrl-C while no line is asked for.
func (k *Keyboard) Interrupts() <-chan struct{} { return k.keys.interrupts }

// Remember puts a text into the history, as if it had been typed.
func (k *Keyboard) Remember(text string) { k.screen.History.Add(shown.Replace(text)) }

// past is what was typed before, the newest last.
type past struct{ lines []string }

// longest is how many lines are remembered.
const longest = 1000

// Add implements term.History. What is empty or comes twice is remembered once at most.
func (p *past) Add(line string) {
	if line == "" || len(p.lines) > 0 && p.lines[len(p.lines)-1] == line {
		return
	}
	p.lines = append(p.lines, line)
	if len(p.lines) > longest {
		p.lines = p.lines[1:]
	}
}

// Len implements term.History.
func (p *past) Len() int { return len(p.lines) }

// At implements term.History.
func (p *past) At(i int) string { return p.lines[len(p.lines)-1-i] }
