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
//
// Those who are known wait in a line of their own, which is let in every other time and has half of the places if it wants
// them: strangers can come from as many parties as they like, and keep nobody out but strangers.
type turns struct {
	slots, waiters int           // how many work, and how many wait, at most
	patience       time.Duration // how long somebody waits at most

	mu      sync.Mutex
	working int
	lines   [2]waitingLine // of strangers, and of those who are known
	last    standing       // whose line was let in last
}

// standing is whether whoever waits is known: they are signed in, or hold what only their mailbox or their browser has.
type standing int

const (
	stranger standing = iota
	known
)

func (s standing) other() standing { return known - s }

// waitingLine is the parties that have somebody waiting, the one whose turn it is first.
type waitingLine struct {
	parties []*party
	waiting int
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
func (t *turns) enter(ctx context.Context, as standing, name string) error {
	place, err := t.queue(as, name)
	if err != nil || place == nil {
		return err
	}
	timeout := time.NewTimer(t.patience)
	defer timeout.Stop()
	select {
	case <-place.decided:
	case <-timeout.C:
		t.giveUp(as, name, place)
	case <-ctx.Done():
		t.giveUp(as, name, place)
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
func (t *turns) queue(as standing, name string) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.working < t.slots {
		t.working++
		return nil, nil
	}
	if t.waiting() >= t.waiters && !t.makeRoom(as, name) {
		return nil, errBusy()
	}
	return t.lines[as].add(name), nil
}

func (t *turns) waiting() int { return t.lines[stranger].waiting + t.lines[known].waiting }

// makeRoom takes a place from the other line if that has more than its half. Else it takes one of the own line's party that
// has the most, if the newcomer's has at least two fewer: a place must not go to and fro.
func (t *turns) makeRoom(as standing, name string) bool {
	own := &t.lines[as]
	if own.waiting < t.waiters/2 {
		t.lines[as.other()].dropYoungest()
		return true
	}
	if own.waiting == 0 || len(own.most().queue) < len(own.party(name).queue)+2 {
		return false
	}
	own.dropYoungest()
	return true
}

func (l *waitingLine) add(name string) *turn {
	p := l.party(name)
	if len(p.queue) == 0 {
		l.parties = append(l.parties, p)
	}
	place := &turn{decided: make(chan struct{})}
	p.queue = append(p.queue, place)
	l.waiting++
	return place
}

// party is that of a name, which is not in the line while it has nobody waiting.
func (l *waitingLine) party(name string) *party {
	if i := slices.IndexFunc(l.parties, func(p *party) bool { return p.name == name }); i >= 0 {
		return l.parties[i]
	}
	return &party{name: name}
}

func (l *waitingLine) most() *party {
	return slices.MaxFunc(l.parties, func(a, b *party) int { return len(a.queue) - len(b.queue) })
}

// dropYoungest takes the youngest place of the party that has the most.
func (l *waitingLine) dropYoungest() {
	p := l.most()
	place := p.queue[len(p.queue)-1]
	l.drop(p, place)
	close(place.decided)
}

// drop takes a place out of the line. A party that has none left loses its turn.
func (l *waitingLine) drop(p *party, place *turn) {
	p.queue = slices.DeleteFunc(p.queue, func(other *turn) bool { return other == place })
	l.waiting--
	if len(p.queue) == 0 {
		l.parties = slices.DeleteFunc(l.parties, func(other *party) bool { return other == p })
	}
}

// giveUp ends a wait that nobody decided; afterwards the place says whether it was.
func (t *turns) giveUp(as standing, name string, place *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-place.decided:
	default:
		l := &t.lines[as]
		l.drop(l.party(name), place)
		close(place.decided)
	}
}

// leave hands the slot on to the other line than the last time, if somebody waits there, and within a line to the party whose
// turn it is, which then waits for all others to have theirs.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting() == 0 {
		t.working--
		return
	}
	if next := t.last.other(); t.lines[next].waiting > 0 {
		t.last = next
	}
	l := &t.lines[t.last]
	p := l.parties[0]
	place := p.queue[0]
	l.parties = append(l.parties[1:], p)
	l.drop(p, place)
	place.given = true
	close(place.decided)
}
