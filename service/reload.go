package service

import (
	"context"
	"errors"

	"svc.dev/svc/service/config"
)

// reloadOn reads again, at every signal and until ctx ends, what can change while the service runs. What is wrong is logged,
// and what was there before stays in use.
func (s *server) reloadOn(ctx context.Context, n *node) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.caller.Reload:
		}
		n.keys.Reload(ctx)
		if s.part == config.Whole {
			continue
		}
		if err := s.reloadTokens(); err != nil {
			s.log.Error("tokens were not reloaded, the old ones stay in use", "error", err)
			continue
		}
		s.log.Info("tokens reloaded", "part", s.part.Name)
	}
}

// reloadTokens goes on with what the configuration says now of what gateway and runtime show each other. It is one step: a
// request meets the old ones or the new ones.
func (s *server) reloadTokens() error {
	if s.caller.Configure == nil {
		return errors.New("the configuration cannot be read again")
	}
	c, err := s.caller.Configure()
	if err != nil {
		return err
	}
	c = c.WithDefaults()
	if err := s.part.CheckTokens(c); err != nil {
		return err
	}
	if s.part.Works {
		return replace(s.guard, c.Guard)
	}
	return replace(s.forward, c.Forward)
}

// replace goes on with what is made anew, if that can be made.
func replace[T interface{ Replace(T) }](old T, renew func() (T, error)) error {
	next, err := renew()
	if err == nil {
		old.Replace(next)
	}
	return err
}
