package crash_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/child"
	"svc.dev/svc/internal/critic"
)

// errDied is the answer of a process that is gone, as a client knows it: a connection lost.
var errDied = errors.New("the process has died")

// process is the parent's handle on a node.
type process struct {
	*child.Process
	t      testing.TB
	active map[string][]json.RawMessage // events of the runs it found active
	open   map[string]*critic.Chat      // conversations it found with work in their queue

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	heard   func(*critic.Page) // told what readers at the node are shown
	gone    bool
}

// takes is what takes its time in a scene: work, a model, a store, the life of a process. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// eventually waits for something to come true.
func eventually(t testing.TB, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in %v", what, patience)
		}
	}
}

// startDoomed starts a node that is killed so long after, wherever it stands then.
func startDoomed(t testing.TB, s setup, after time.Duration) {
	t.Helper()
	p := child.Start(t, s)
	takes(after)
	p.Kill()
}

// startProcess starts a node and returns when it is about to work. The test's end kills it.
func startProcess(t testing.TB, s setup) *process {
	t.Helper()
	p := &process{Process: child.Start(t, s), t: t, waiting: map[int]chan reply{}}
	var first reply
	p.Hello(&first)
	p.active, p.open = first.Active, first.Open
	go p.read()
	return p
}

// read hands out answers until the process is gone.
func (p *process) read() {
	for {
		var r reply
		if p.Lines.Decode(&r) != nil {
			break
		}
		p.mu.Lock()
		answer, heard := p.waiting[r.ID], p.heard
		delete(p.waiting, r.ID)
		p.mu.Unlock()
		if r.Page != nil {
			heard(r.Page)
			continue
		}
		answer <- r
	}
	<-p.Ended()
	p.mu.Lock()
	p.gone = true
	for _, answer := range p.waiting {
		close(answer)
	}
	p.mu.Unlock()
}

// patience bounds every wait of these tests.
const patience = 60 * time.Second

// ask sends a request and returns its answer; errDied if there will be none.
func (p *process) ask(r request) (reply, error) {
	answer, err := p.send(r)
	if err != nil {
		return reply{}, err
	}
	select {
	case got, ok := <-answer:
		if !ok {
			return reply{}, errDied
		}
		if got.Error != "" {
			return got, errors.New(got.Error)
		}
		return got, nil
	case <-time.After(patience):
		return reply{}, fmt.Errorf("no answer to %s %s %s in %v", r.Op, r.Workflow, r.RunID, patience)
	}
}

func (p *process) send(r request) (chan reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, errDied
	}
	p.next++
	r.ID = p.next
	line := json.NewEncoder(p.In)
	line.SetEscapeHTML(false)
	answer := make(chan reply, 1)
	p.waiting[r.ID] = answer
	if err := line.Encode(r); err != nil {
		delete(p.waiting, r.ID)
		return nil, errDied
	}
	return answer, nil
}

// must is ask where the process has no reason to die.
func (p *process) must(r request) reply {
	p.t.Helper()
	got, err := p.ask(r)
	if err != nil {
		p.t.Fatalf("%s %s %s: %v\n%s", r.Op, r.Workflow, r.RunID, err, p.Complaints())
	}
	return got
}

func (p *process) arm(t trap) { p.must(request{Op: "arm", Trap: t}) }

// disarm takes the trap away; errDied if the process is in it already: a trap may lie behind what the client waited for, as
// the release of a run that has ended.
func (p *process) disarm() error {
	_, err := p.ask(request{Op: "arm"})
	return err
}
