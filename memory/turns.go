package memory

import (
	"context"
	"runtime"
	"sync"
)

// Turns lets few do at once what takes a processor, or a database, for long: who sends or asks for little does not wait for
// who does so for much. It is of use to bytes that have their memory already.
type Turns struct {
	each int
	all  chan struct{}

	mu    sync.Mutex
	lanes map[string]*lane
}

// lane is the turns of one holder.
type lane struct {
	free  chan struct{}
	users int
}

// NewTurns lets each holder have so many turns at once, and all together so many.
func NewTurns(each, all int) *Turns {
	return &Turns{each: each, all: make(chan struct{}, all), lanes: map[string]*lane{}}
}

// Half is half of the processors, one at least.
func Half() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// Large is how many bytes have to wait for their turn: less takes a millisecond or two.
const Large = 256 << 10

// Take does something when it is a holder's turn. The empty holder is everybody together.
func (t *Turns) Take(ctx context.Context, holder string, do func() error) error {
	l := t.join(holder)
	defer t.part(holder, l)
	for _, places := range []chan struct{}{l.free, t.all} {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-places }()
	}
	return do()
}

func (t *Turns) join(holder string) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[holder]
	if l == nil {
		l = &lane{free: make(chan struct{}, t.each)}
		t.lanes[holder] = l
	}
	l.users++
	return l
}

func (t *Turns) part(holder string, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(t.lanes, holder)
	}
}
