// Package typing reads what a person types at a terminal, line by line, with history on the arrow keys, and knows a Ctrl-C that is
// meant for an answer from one that is meant for the line.
//
// Bytes of the terminal become keys (keys.go: what is pasted, and whom a Ctrl-C is for), keys become strokes that edit a line, and the
// line is laid out in rows by the columns that its letters take.
package typing

import (
	"context"
	"io"
	"os"
	"os/signal"

	"golang.org/x/term"

	"svc.dev/svc/internal/cli/hold"
)

// Keyboard is a terminal at which somebody types. What is written to it stands above the line that is asked for.
type Keyboard struct {
	*editor
	keys    *keys
	restore func() error
	resized func()
}

// Hint is what the first Ctrl-C at an empty line says.
const Hint = "(Ctrl-C again leaves, so does Ctrl-D)\n"

// New reads keys from one end and shows the line at the other. The terminal between them is in its raw mode.
func New(in io.Reader, out io.Writer) *Keyboard {
	k := &Keyboard{editor: newEditor(out), restore: func() error { return nil }, resized: func() {}}
	k.keys = newKeys(func() { _, _ = k.Write([]byte(Hint)) })
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
	k.put("\x1b[?2004h") // say where a paste begins and ends
	fit := func() {
		if columns, rows, err := term.GetSize(int(out.Fd())); err == nil {
			k.Fit(columns, rows)
		}
	}
	fit()
	sizes, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(sizes, hold.Resized)
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
		k.put("\x1b[?2004l")
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
	text, err := k.edit(prompt, k.keys)
	return meant.Replace(text), err
}

// Interrupts tells of each Ctrl-C while no line is asked for.
func (k *Keyboard) Interrupts() <-chan struct{} { return k.keys.interrupts }

// Remember puts a text into the history, as if it had been typed.
func (k *Keyboard) Remember(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.past.add(shown.Replace(text))
}
