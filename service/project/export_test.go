package project

// OnStep tells fn where each change stands.
func OnStep(p *Projects, fn func(stage string)) { p.step = fn }

// Remeasure forgets when scopes were measured.
func Remeasure(p *Projects) {
	p.gauge.mu.Lock()
	defer p.gauge.mu.Unlock()
	clear(p.gauge.seen)
}

// SetSlack is how many bytes git may take besides the content itself.
func SetSlack(p *Projects, bytes int64) { p.slack = bytes }
