package memory

import (
	"context"
	"runtime"
	"sync"
)

// Turns lets few do at once what takes a processor, a database or memory for long, and of these only some for one holder: one
// who sends or asks for little does not wait for those who do so for much, and whoever is slow is in nobody's way but their own.
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
	done, err := t.Wait(ctx, holder)
	if err != nil {
		return err
	}
	defer done()
	return do()
}

// Wait waits for a holder's turn, first among its own. It lasts until done is called.
func (t *Turns) Wait(ctx context.Context, holder string) (done func(), err error) {
	l := t.join(holder)
	select {
	case l.free <- struct{}{}:
	case <-ctx.Done():
		t.part(holder, l)
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-l.free
		t.part(holder, l)
		return nil, ctx.Err()
	}
	return func() { <-t.all; <-l.free; t.part(holder, l) }, nil
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

// part forgets a holder that has nothing here any more.
func (t *Turns) part(holder string, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(t.lanes, holder)
	}
}
