package service

import (
	"context"
	"errors"

	"svc.dev/svc/service/scope"
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
		if s.part.faces {
			n.reloadKeys(ctx)
		}
		if s.part == whole {
			continue
		}
		if err := s.reloadTokens(); err != nil {
			s.log.Error("tokens were not reloaded, the old ones stay in use", "error", err)
			continue
		}
		s.log.Info("tokens reloaded", "part", s.part.name)
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
	c = c.withDefaults()
	if err := s.part.checkTokens(c); err != nil {
		return err
	}
	if s.part.works {
		return s.replaceGuard(c)
	}
	return s.replaceForward(c)
}

func (s *server) replaceGuard(c Config) error {
	next, err := c.guard()
	if err == nil {
		s.guard.Replace(next)
	}
	return err
}

func (s *server) replaceForward(c Config) error {
	next, err := c.forward()
	if err == nil {
		s.forward.Replace(next)
	}
	return err
}

// forward is what a gateway of its own says to be believed.
func (c Config) forward() (*scope.Forward, error) {
	key, err := parseSigningKey(c.AssertionKey.Reveal())
	if err != nil {
		return nil, err
	}
	return &scope.Forward{Token: c.RuntimeToken.Reveal(), AdminToken: c.RuntimeAdminToken.Reveal(), Key: key}, nil
}
