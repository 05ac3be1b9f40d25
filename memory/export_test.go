package memory

// Available is the memory of a machine whose files lie below a root.
var Available = available

// Holders is how many of them wait or are at it.
func (t *Turns) Holders() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.lanes)
}
