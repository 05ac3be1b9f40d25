package project

// OnStep tells fn where each change stands.
func OnStep(p *Projects, fn func(stage string)) { p.step = fn }

// Remeasure forgets when scopes were measured.
func Remeasure(p *Projects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.measured)
}

// SetSlack is how many bytes git may take besides the content itself.
func SetSlack(p *Projects, bytes int64) { p.slack = bytes }
