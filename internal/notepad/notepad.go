// Package notepad keeps what many write, to be read meanwhile: the log of a test, and what a child process says.
package notepad

import (
	"bytes"
	"sync"
)

// Pad keeps what is written. The zero value is empty.
type Pad struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *Pad) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// String is all that was written so far.
func (p *Pad) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}
