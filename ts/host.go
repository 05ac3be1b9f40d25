package ts

import (
	"svc.dev/svc/internal/script"
)

// host answers what scripts ask of the program around them. A run's record and its log may end the goroutine of the run that is interrupted.
type host struct{ p *Project }

// Sync answers at once.
func (h host) Sync(c script.Call) (answer any, known bool, err error) {
	switch c.Op {
	case "reply", "fail", "end", "hold":
		h.p.replied(c)
		return nil, true, nil
	case "now", "chance", "entropy":
		answer, err = c.Apart(func() (any, error) { return recorded(c) })
		return answer, true, err
	case "line":
		_, err = c.Apart(func() (any, error) { return nil, h.p.line(c) })
		return nil, true, err
	}
	return nil, false, nil
}

// Async begins what a script waits for.
func (h host) Async(c script.Call) (known bool) {
	p := h.p
	switch c.Op {
	case "serve":
		p.serve(c)
	case "next":
		p.next(c)
	case "write":
		c.Go(p.write(c))
	case "dispatch":
		c.Go(asked(c, p.dispatch))
	case "invoke":
		c.Go(asked(c, p.invoke))
	case "listRuns":
		c.Go(asked(c, p.listRuns))
	case "getRun":
		c.Go(asked(c, p.getRun))
	case "listAgents":
		c.Go(asked(c, p.listAgents))
	default:
		return false
	}
	return true
}
