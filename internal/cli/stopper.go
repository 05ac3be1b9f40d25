package cli

import (
	"context"
	"sync"

	"svc.dev/svc/client"
)

// stopper hears the interrupts of whoever waits for an answer.
type stopper struct {
	ended chan struct{}
	group sync.WaitGroup
	left  bool  // they do not want to wait any longer
	err   error // why the agent cannot be stopped
}

// newStopper stops the submission at the first interrupt, and leaves at the second.
func newStopper(t *talk, sent client.Admission, leave context.CancelFunc) *stopper {
	s := &stopper{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	s.group.Go(func() {
		defer leave()
		defer cancel()
		for asked := false; ; asked = true {
			select {
			case <-s.ended:
				return
			case <-t.interrupts:
			}
			if asked {
				s.left = true
				return
			}
			s.group.Go(func() {
				if _, err := t.api.Agents.Abort(ctx, sent.Agent, sent.Instance, sent.SubmissionID); err != nil && ctx.Err() == nil {
					s.err = err
					leave()
				}
			})
		}
	})
	return s
}

// end waits for what was begun. It reports whether they left, and why the agent could not be stopped if they wanted that.
func (s *stopper) end() (left bool, err error) {
	close(s.ended)
	s.group.Wait()
	return s.left, s.err
}
