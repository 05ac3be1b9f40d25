package account

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turns lets few work at once while others wait, each party in its turn, so that no party can keep the others out: of two
// that always wait each is let in every other time, however many come from one of them. When all places to wait are taken,
// whoever has the most of them gives one up to a party that has fewer.
type turns struct {
	slots, waiters int           // how many work, and how many wait, at most
	patience       time.Duration // how long somebody waits at most

	mu      sync.Mutex
	working int
	waiting int
	parties []*party // that have somebody waiting, the one whose turn it is first
}

// party is the places of one source, the longest waiting first.
type party struct {
	name  string
	queue []*turn
}

// turn is a place in the queue. Its channel is closed once it is decided whether the slot is given or the place is lost.
type turn struct {
	decided chan struct{}
	given   bool
}

// enter waits for a slot on behalf of a party. It is errBusy when there is none in time, and the context's error once that has
// ended: nobody works for a client that is gone.
func (t *turns) enter(ctx context.Context, name string) error {
	place, err := t.queue(name)
	if err != nil || place == nil {
		return err
	}
	timeout := time.NewTimer(t.patience)
	defer timeout.Stop()
	select {
	case <-place.decided:
	case <-timeout.C:
		t.giveUp(name, place)
	case <-ctx.Done():
		t.giveUp(name, place)
		if place.given {
			t.leave()
		}
		return ctx.Err()
	}
	if !place.given {
		return errBusy()
	}
	return nil
}

// queue takes a slot and returns nil, or takes a place to wait for one.
func (t *turns) queue(name string) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.working < t.slots {
		t.working++
		return nil, nil
	}
	if t.waiting >= t.waiters && !t.makeRoom(name) {
		return nil, errBusy()
	}
	p := t.party(name)
	if p == nil {
		p = &party{name: name}
		t.parties = append(t.parties, p)
	}
	place := &turn{decided: make(chan struct{})}
	p.queue = append(p.queue, place)
	t.waiting++
	return place, nil
}

func (t *turns) party(name string) *party {
	i := slices.IndexFunc(t.parties, func(p *party) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return t.parties[i]
}

// makeRoom takes the youngest place of the party that has the most, if the newcomer's has at least two fewer: a place must
// not go to and fro.
func (t *turns) makeRoom(name string) bool {
	most := slices.MaxFunc(t.parties, func(a, b *party) int { return len(a.queue) - len(b.queue) })
	own := 0
	if p := t.party(name); p != nil {
		own = len(p.queue)
	}
	if len(most.queue) < own+2 {
		return false
	}
	last := most.queue[len(most.queue)-1]
	t.drop(most, last)
	close(last.decided)
	return true
}

// drop takes a place out of the queue. A party that has none left loses its turn.
func (t *turns) drop(p *party, place *turn) {
	p.queue = slices.DeleteFunc(p.queue, func(other *turn) bool { return other == place })
	t.waiting--
	if len(p.queue) == 0 {
		t.parties = slices.DeleteFunc(t.parties, func(other *party) bool { return other == p })
	}
}

// giveUp ends a wait that nobody decided; afterwards the place says whether it was.
func (t *turns) giveUp(name string, place *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-place.decided:
	default:
		t.drop(t.party(name), place)
		close(place.decided)
	}
}

// leave hands the slot on to the party whose turn it is, which then waits for all others to have theirs.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.parties) == 0 {
		t.working--
		return
	}
	p := t.parties[0]
	place := p.queue[0]
	t.parties = append(t.parties[1:], p)
	t.drop(p, place)
	place.given = true
	close(place.decided)
}
