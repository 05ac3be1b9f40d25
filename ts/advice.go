package ts

import (
	"fmt"
	"sync"

	"svc.dev/svc/internal/script"
)

// unrecorded are the operations whose answers a run does not record outside of its steps, and what an author should know of them.
var unrecorded = map[string]string{
	"fetch":   "%s calls fetch outside of a step: a run that is resumed fetches again; await it inside of step()",
	"timer":   "%s sets a timer outside of a step: a run that is resumed waits again; use sleep()",
	"elapsed": "%s asks performance.now outside of a step: a run that is resumed hears another time; use Date.now(), which is recorded",
}

// advised is what authors were told already, so that each workflow is told of once.
type advised struct {
	mu  sync.Mutex
	all map[[2]string]bool
}

// first reports whether a workflow is told of an operation for the first time.
func (a *advised) first(workflow, op string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := [2]string{workflow, op}
	if a.all[of] {
		return false
	}
	if a.all == nil {
		a.all = map[[2]string]bool{}
	}
	a.all[of] = true
	return true
}

// advise warns of an operation that a run asks for outside of its steps.
func (p *Project) advise(c script.Call) {
	text, is := unrecorded[c.Op]
	if !is || c.Act == nil {
		return
	}
	r, ok := c.Act.Data.(*run)
	// The acts of its steps have the run too.
	if !ok || c.Act != r.act || !p.advised.first(r.name, c.Op) {
		return
	}
	p.config.Log.Warn(fmt.Sprintf(text, "workflows/"+r.name), "run_id", r.w.RunID())
}
