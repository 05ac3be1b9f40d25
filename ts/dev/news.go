package dev

import "sync"

// news wakes the pages that follow builds. What they are told is read from the Server: a wake that is missed costs nothing.
type news struct {
	mu     sync.Mutex
	wake   chan struct{}
	closed bool
}

// next is closed at the next news, and when there will be none.
func (n *news) next() (wake <-chan struct{}, open bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wake == nil {
		n.wake = make(chan struct{})
	}
	return n.wake, !n.closed
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wake != nil {
		close(n.wake)
		n.wake = nil
	}
}

// close lets all pages go.
func (n *news) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.tell()
}
