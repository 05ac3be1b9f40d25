package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/internal/outbox"
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
	// passParallel is how many deliveries are tried at once.
	passParallel = 4
	// longestPass bounds the time between two attempts, which doubles.
	firstPass, longestPass = time.Second, 10 * time.Minute
	// longestAway bounds the time between two looks whether the runtime is back.
	firstAway, longestAway = 100 * time.Millisecond, 15 * time.Second
)

// courier is what passing deliveries on needs.
type courier struct {
	deliveries           *secret.Box
	mostOfOne, mostOfAll load
	queue                *outbox.Queue[dispatch]
	absence              *absence
}

func newCourier(c Config) courier {
	away := new(absence)
	queue := outbox.New(outbox.Config[dispatch]{
		DB: c.DB, Table: dispatches, Parallel: passParallel, Free: away.free, Poll: passPoll, Timeout: passTimeout, Lease: passLease,
		Now: c.Now, Log: c.Log, Name: "pass deliveries on",
		Lost: func(d claimed, err error) {
			c.Log.Error("what became of a delivery is not on record, it may be passed on again", "delivery", d.Row.delivery, "error", err)
		},
	})
	return courier{deliveries: c.Secrets.Box("provider delivery"), mostOfOne: mostOfOne, mostOfAll: mostOfAll, queue: queue, absence: away}
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
	err := a.queue.Run(ctx, func(ctx context.Context, d claimed) outbox.Verdict {
		failed := a.try(ctx, d, pass)
		if d.Row.kind == forChannel && !errors.Is(failed, errGone) {
			a.absence.note(errors.Is(failed, ErrAway))
		}
		return a.judge(ctx, d, failed)
	})
	if err != nil {
		return fmt.Errorf("pass deliveries on: %w", err)
	}
	return nil
}

// absence is how long the runtime has not been there, as this node knows it.
type absence struct {
	mu    sync.Mutex
	away  int       // how often it was not there, one after the other
	until time.Time // and when it is looked for again
}

// free is how many more may be tried now, and how long to wait where that is none.
func (a *absence) free(busy int) (more int, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away == 0 {
		return passParallel - busy, passPoll
	}
	if wait := time.Until(a.until); wait > 0 || busy > 0 {
		return 0, max(wait, firstAway)
	}
	return 1, 0
}

// note remembers whether the runtime was there.
func (a *absence) note(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !away {
		a.away = 0
		return
	}
	a.away++
	a.until = time.Now().Add(outbox.Pause(firstAway, longestAway, int64(a.away)))
}

func (a *Accounts) try(ctx context.Context, d claimed, pass func(context.Context, Passing) error) error {
	if d.Row.kind == forApproval {
		return a.approve(ctx, d)
	}
	room, err := a.deliveryRoom(ctx, d.Row.bytes)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	defer room.Release()
	p, err := a.unpack(ctx, d.Row)
	if err != nil {
		return err
	}
	return pass(ctx, p)
}

// judge is what comes of an attempt.
func (a *Accounts) judge(ctx context.Context, d claimed, failed error) outbox.Verdict {
	now := a.Now()
	switch {
	case failed == nil || errors.Is(failed, errGone):
		return outbox.Done(d.Row.finish)
	case d.Stopped():
		return outbox.Again(now) // cut short by us
	case errors.Is(failed, ErrUndeliverable) || now.After(d.Created.Add(passLife)):
		return a.giveUp(ctx, d, failed)
	case errors.Is(failed, ErrAway):
		return outbox.Again(now) // no fault of the delivery's
	}
	next := now.Add(outbox.Pause(firstPass, longestPass, d.Attempt))
	a.Log.Warn("delivery not passed on yet", "delivery", d.Row.delivery, "kind", d.Row.kind, "scope", d.Row.scope, "attempt", d.Attempt, "next", next.UTC(), "error", failed)
	return outbox.Again(next)
}
