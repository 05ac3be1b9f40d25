package svc

import (
	"context"
	"fmt"
)

// EraseRun destroys a run of the scope and all that it recorded, durable before it returns: from then on there is no such
// run. Whoever works on it is stopped. That there is none is a fault.
func (s Scoped) EraseRun(ctx context.Context, runID string) error {
	found, _, err := s.FindRun(ctx, runID)
	if err != nil {
		return err
	}
	return s.rt.erase(ctx, found)
}

// EraseConversation destroys an agent's instance with its queue, its history and its attachments, as EraseRun does a run.
// The next message to it begins a new conversation, behind all offsets that were given out. Without an instance it is
// ErrNoStream.
func (s Scoped) EraseConversation(ctx context.Context, agent, id string) error {
	address := s.AgentStream(agent, id)
	if _, err := s.rt.store.Tail(ctx, address); err != nil {
		return err
	}
	return s.rt.erase(ctx, address)
}

// erase drops a stream, and then what this node keeps of it. Other nodes hear of it from the store, as those who follow do.
func (rt *Runtime) erase(ctx context.Context, of Stream) error {
	if err := rt.store.Drop(ctx, of); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	rt.states.forget(of)
	rt.rings.forget(of)
	return nil
}
