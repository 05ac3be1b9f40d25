package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// What an attempt to pass a delivery on may end with, besides success and failures that are worth another attempt soon.
var (
	// ErrUndeliverable says that no further attempt would end otherwise.
	ErrUndeliverable = errors.New("undeliverable")
	// ErrAway says that the runtime is not there for anybody.
	ErrAway = errors.New("the runtime is away")

	errGone = errors.New("nobody waits for it any more")
)

const (
	// passLife is how long a delivery is tried to be passed on.
	passLife = 3 * day
	// passLease is how long a delivery belongs to whoever tries; it is longer than an attempt may take.
	passLease   = 2 * time.Minute
	passTimeout = 30 * time.Second
	// passPoll is how long a delivery may wait whose node has gone.
	passPoll = 5 * time.Second
	// longestPass bounds the time between two attempts, which doubles.
	firstPass, longestPass = time.Second, 10 * time.Minute
	// longestAway bounds the time between two looks whether the runtime is back.
	firstAway, longestAway = 100 * time.Millisecond, 15 * time.Second
)

// courier is what passing deliveries on needs.
type courier struct {
	deliveries           *secret.Box
	mostOfOne, mostOfAll load
	wake                 chan struct{}
}

func newCourier(box *secret.Box) courier {
	return courier{deliveries: box, mostOfOne: mostOfOne, mostOfAll: mostOfAll, wake: make(chan struct{}, 1)}
}

// wakeCourier tells that a delivery may have been queued. A lost one costs passPoll, never a delivery.
func (a *Accounts) wakeCourier() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Passing is a delivery on its way to a workspace.
type Passing struct {
	Provider string
	Delivery string // its id
	Event    string
	Scope    string
	Owner    string // account that owns the scope
	Body     []byte
}

// PassOn does what deliveries leave to be done, until ctx ends: it hands each to pass, once for every workspace that works
// with its installation, until pass has taken it. Any number of nodes may do so on one database. A delivery may be handed
// over twice, by two nodes or before and after a crash: its id is what tells. One that is not taken is tried again after a
// second, two, four, up to every ten minutes, for three days, and is then given up; while the runtime is away one delivery
// alone is tried, now and then. It returns an error only when the database is gone.
func (a *Accounts) PassOn(ctx context.Context, pass func(context.Context, Passing) error) error {
	r := &round{Accounts: a, pass: pass, slots: make(chan struct{}, 4)}
	var trying sync.WaitGroup
	defer trying.Wait()
	for ctx.Err() == nil {
		due, pause, err := r.due(ctx)
		switch {
		case errors.Is(err, sqldb.ErrClosed) || errors.Is(err, sqldb.ErrFailed):
			return fmt.Errorf("pass deliveries on: %w", err)
		case err != nil && ctx.Err() == nil:
			a.Log.Warn("pass deliveries on", "error", err)
		}
		for _, d := range due {
			r.slots <- struct{}{}
			trying.Go(func() {
				r.attempt(ctx, d)
				<-r.slots
				a.wakeCourier()
			})
		}
		if len(due) == 0 {
			r.rest(ctx, pause)
		}
	}
	return nil
}

// round is one PassOn.
type round struct {
	*Accounts
	pass  func(context.Context, Passing) error
	slots chan struct{} // of attempts under way

	mu    sync.Mutex
	away  int       // how often the runtime was not there, one after the other
	until time.Time // and when it is looked for again
}

func (r *round) rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-timer.C:
	}
}

// due claims what is due, as much as may be tried now, and says how long to rest if that is none.
func (r *round) due(ctx context.Context) ([]dispatch, time.Duration, error) {
	free, wait := r.free()
	if free == 0 {
		return nil, wait, nil
	}
	at, some, err := r.earliest(ctx)
	if err != nil || !some {
		return nil, passPoll, err
	}
	if wait := at.Sub(r.Now()); wait > 0 {
		return nil, min(wait, passPoll), nil
	}
	all, err := r.claim(ctx, free)
	return all, passPoll, err
}

// free is how many may be tried now, and how long to wait where that is none.
func (r *round) free() (int, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := len(r.slots)
	if r.away == 0 {
		return cap(r.slots) - busy, passPoll
	}
	if wait := time.Until(r.until); wait > 0 || busy > 0 {
		return 0, max(wait, firstAway)
	}
	return 1, 0
}

// noteAway remembers whether the runtime was there.
func (r *round) noteAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !away {
		r.away = 0
		return
	}
	r.away++
	r.until = time.Now().Add(doubled(firstAway, longestAway, int64(r.away)))
}

// doubled is the pause after the nth attempt.
func doubled(first, longest time.Duration, n int64) time.Duration {
	if n > 30 {
		return longest
	}
	return min(first<<(n-1), longest)
}

// attempt tries once, and writes down how that ended.
func (r *round) attempt(ctx context.Context, d dispatch) {
	trying, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	failed := r.try(trying, d)
	if d.kind == forChannel && !errors.Is(failed, errGone) {
		r.noteAway(errors.Is(failed, ErrAway))
	}
	marking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := r.settle(marking, d, failed, ctx.Err() != nil); err != nil {
		r.Log.Error("what became of a delivery is not on record, it may be passed on again", "delivery", d.delivery, "error", err)
	}
}

func (r *round) try(ctx context.Context, d dispatch) error {
	if d.kind == forApproval {
		return r.approve(ctx, d)
	}
	room, err := r.deliveryRoom(ctx, d.bytes)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	defer room.Release()
	p, err := r.unpack(ctx, d)
	if err != nil {
		return err
	}
	return r.pass(ctx, p)
}

// settle writes down how an attempt ended.
func (r *round) settle(ctx context.Context, d dispatch, failed error, stopped bool) error {
	now := r.Now()
	switch {
	case failed == nil || errors.Is(failed, errGone):
		return r.finish(ctx, d)
	case stopped:
		return r.later(ctx, d, now) // cut short by us
	case errors.Is(failed, ErrUndeliverable) || now.After(d.created.Add(passLife)):
		return r.giveUp(ctx, d, failed)
	case errors.Is(failed, ErrAway):
		return r.later(ctx, d, now) // no fault of the delivery's
	}
	next := now.Add(doubled(firstPass, longestPass, d.attempt))
	r.Log.Warn("delivery not passed on yet", "delivery", d.delivery, "kind", d.kind, "scope", d.scope, "attempt", d.attempt, "next", next.UTC(), "error", failed)
	return r.later(ctx, d, next)
}
