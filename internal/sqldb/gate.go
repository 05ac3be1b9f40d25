package sqldb

import "sync"

// gate counts who is inside, so that closing can wait for them.
type gate struct {
	mu     sync.RWMutex
	inside sync.WaitGroup
	closed bool
}

// enter reports whether the gate was open; then leave must follow.
func (g *gate) enter() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return false
	}
	g.inside.Add(1)
	return true
}

func (g *gate) leave() { g.inside.Done() }

// close lets nobody in any more and returns when all have left.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}
