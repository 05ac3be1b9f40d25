package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/outbox"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
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
func (a *Installations) PassOn(ctx context.Context, pass func(context.Context, Passing) error) error {
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

func (a *Installations) try(ctx context.Context, d claimed, pass func(context.Context, Passing) error) error {
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
func (a *Installations) judge(ctx context.Context, d claimed, failed error) outbox.Verdict {
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

// claimed is a dispatch that is this node's to try.
type claimed = outbox.Claim[dispatch]

var dispatches = outbox.Table[dispatch]{
	Name: "dispatches", Rows: "deliveries",
	Key: []string{"provider", "delivery", "workspace"}, KeyOf: func(d dispatch) []any { return []any{d.provider, d.delivery, d.workspace} },
	Columns: []string{"provider", "delivery", "workspace", "kind", "scope", "account", "event", "installation", "bytes"},
	Fields: func(d *dispatch) []any {
		return []any{&d.provider, &d.delivery, &d.workspace, &d.kind, &d.scope, &d.account, &d.event, &d.installation, &d.bytes}
	},
}

// unpack is a delivery for its workspace, if that still works with the installation.
func (a *Installations) unpack(ctx context.Context, d dispatch) (Passing, error) {
	return sqldb.Snapshot(ctx, a.DB, func(tx *sqldb.Tx) (p Passing, err error) {
		var n, asleep int
		err = tx.QueryRow(`SELECT count(*), count(i.suspended_at) FROM installation_bindings b
			JOIN installations i ON i.provider = b.provider AND i.id = b.installation AND i.deleted_at IS NULL
			WHERE b.provider = $1 AND b.installation = $2 AND b.workspace = $3`, d.provider, d.installation, d.workspace).Scan(&n, &asleep)
		if err != nil {
			return p, fmt.Errorf("find binding: %w", err)
		}
		w, found, err := workspace.At(tx, d.scope)
		switch {
		case err != nil:
			return p, err
		case n == 0 || !found || w.ID != d.workspace || w.Suspended:
			return p, errGone
		case asleep > 0:
			// That it was woken may only not have been told yet.
			return p, fault.New("installation_suspended", "The installation is suspended.", "")
		}
		p = Passing{Provider: d.provider, Delivery: d.delivery, Event: d.event, Scope: d.scope, Owner: w.Owner}
		p.Body, err = a.readBody(tx, d)
		return p, err
	})
}

// finish forgets a dispatch that is done, whoever did it.
func (d dispatch) finish(tx *sqldb.Tx) error {
	if err := tx.Do("finish delivery", "DELETE FROM dispatches WHERE provider = $1 AND delivery = $2 AND workspace = $3", d.provider, d.delivery, d.workspace); err != nil {
		return err
	}
	return dropBody(tx, d)
}

// lockDelivery lets those who keep or drop the body of a delivery go one after the other.
func lockDelivery(tx *sqldb.Tx, provider, id string) error {
	if err := tx.Lock("SELECT 1 FROM deliveries WHERE provider = $1 AND id = $2", provider, id); err != nil {
		return fmt.Errorf("lock delivery: %w", err)
	}
	return nil
}

// dropBody deletes what was told once nobody waits for it.
func dropBody(tx *sqldb.Tx, d dispatch) error {
	if err := lockDelivery(tx, d.provider, d.delivery); err != nil {
		return err
	}
	return tx.Do("drop delivery", `DELETE FROM delivery_bodies WHERE provider = $1 AND delivery = $2
		AND NOT EXISTS (SELECT 1 FROM dispatches WHERE provider = $1 AND delivery = $2 AND state = 'queued')`, d.provider, d.delivery)
}

// giveUp ends a dispatch that cannot be done, and tells the workspace. What the provider told is kept no longer: it can be asked to tell it
// again.
func (a *Installations) giveUp(ctx context.Context, c claimed, why error) outbox.Verdict {
	d := c.Row
	a.Log.Error("delivery given up", "delivery", d.delivery, "kind", d.kind, "scope", d.scope, "attempt", c.Attempt, "error", why)
	return outbox.Dead(func(tx *sqldb.Tx) error {
		return cmp.Or(
			tx.Do("give up delivery", "UPDATE dispatches SET trouble = $4 WHERE provider = $1 AND delivery = $2 AND workspace = $3",
				d.provider, d.delivery, d.workspace, fault.From(why).Type),
			dropBody(tx, d),
			a.Audit.Append(ctx, tx, audit.Event{
				Actor: account.ProviderActor(d.provider), Action: "delivery.failed", Target: audit.Target{Kind: "delivery", ID: d.delivery}, Scope: d.scope, Outcome: audit.Error,
			}),
		)
	})
}

// Sweep deletes what was delivered and what was installed long ago, a little at a time, and says how many rows that were.
func (a *Installations) Sweep(ctx context.Context) (total int64, err error) {
	for _, statement := range []struct {
		sql  string
		keep time.Duration
	}{
		{"DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE received_at < $1 LIMIT 500) AND received_at < $1", a.Keep},
		{"DELETE FROM dispatches WHERE delivery IN (SELECT delivery FROM dispatches WHERE created_at < $1 LIMIT 500) AND created_at < $1", a.KeepPassed},
		{"DELETE FROM delivery_bodies WHERE delivery IN (SELECT delivery FROM delivery_bodies WHERE received_at < $1 LIMIT 500) AND received_at < $1", a.KeepPassed},
		{"DELETE FROM installations WHERE id IN (SELECT id FROM installations WHERE deleted_at < $1 LIMIT 500)", a.Keep},
	} {
		before := a.Now().Add(-statement.keep).UnixMilli()
		n, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (int64, error) { return tx.Exec(statement.sql, before) })
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}
