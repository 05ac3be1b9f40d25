package ts

import (
	"svc.dev/svc/internal/script"
)

// host answers what scripts ask of the program around them.
type host struct{ p *Project }

// Sync answers at once.
func (h host) Sync(c script.Call) (answer any, known bool, err error) {
	switch c.Op {
	case "reply", "fail", "end", "hold":
		h.p.replied(c)
		return nil, true, nil
	case "now", "chance", "entropy":
		answer, err = recorded(c)
		return answer, true, err
	case "line":
		return nil, true, h.p.line(c)
	}
	return nil, false, nil
}

// Async begins what a script waits for.
func (h host) Async(c script.Call) (known bool) {
	p := h.p
	switch c.Op {
	case "serve":
		c.Go(p.serve(c))
	case "next":
		c.Go(p.next(c))
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
