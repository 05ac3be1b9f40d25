package ts

import (
	"context"
	"errors"
	"slices"
)

// Drain returns when no request has anything to do in an engine, also behind its answer, or when ctx ends. What is left then is cut off by
// Close, and told to the log.
func (p *Project) Drain(ctx context.Context) {
	for {
		freed := p.serving.nextFreed()
		if p.serving.acts() == 0 {
			return
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return
		}
	}
}

// acts is how many acts the engines have that live, those that were replaced too.
func (p *pool) acts() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.left)
	for _, at := range p.places {
		all = append(all, at.engine)
	}
	for _, e := range all {
		if e != nil && !dead(e) {
			n += e.Load()
		}
	}
	return n
}

// errLate is that work behind an answer went on for longer than Limits.Late.
var errLate = errors.New("it did not end in time")

// reportLate tells why work behind an answer did not come to its end: nobody is left to be answered with that.
func (x *exchange) reportLate(err error) {
	what := "work behind an answer failed"
	if unavailable(err) {
		what = "work behind an answer was cut off"
	}
	report(x.r.Context(), x.p.config.Log, what, err, "method", x.r.Method, "path", x.r.URL.Path)
}
