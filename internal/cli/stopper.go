package cli

import (
	"context"
	"sync"
	"time"

	"svc.dev/svc/client"
)

// stopper hears the interrupts of whoever waits for an answer.
type stopper struct {
	ended chan struct{}
	group sync.WaitGroup
	left  bool  // they do not want to wait any longer
	err   error // why the agent cannot be stopped
}

// newStopper stops the submission at the first interrupt, which may have come before, and leaves at the second.
func newStopper(t *talk, sent client.Admission, asked bool, leave context.CancelFunc) *stopper {
	s := &stopper{ended: make(chan struct{})}
	stop := func() {
		if err := t.stop(sent); err != nil {
			s.err = err
			leave()
		}
	}
	if asked {
		s.group.Go(stop)
	}
	s.group.Go(func() {
		defer leave()
		for {
			select {
			case <-s.ended:
				return
			case <-t.interrupts:
			}
			if asked {
				s.left = true
				return
			}
			asked = true
			s.group.Go(stop)
		}
	})
	return s
}

// lastWord is how long the service has to take what somebody who leaves has asked for.
const lastWord = 5 * time.Second

// stop stops the agent, though whoever asked for it leaves meanwhile.
func (t *talk) stop(sent client.Admission) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), lastWord)
	defer cancel()
	_, err := t.api.Agents.Abort(ctx, sent.Agent, sent.Instance, sent.SubmissionID)
	return err
}

// lingering is a context that ends a while after another: what is on its way may arrive.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(lastWord, cancel)
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// end waits for what was begun. It reports whether they left, and why the agent could not be stopped if they wanted that.
func (s *stopper) end() (left bool, err error) {
	close(s.ended)
	s.group.Wait()
	return s.left, s.err
}
