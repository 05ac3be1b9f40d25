package account

import (
	"context"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// NeedElevation refuses unless a session has the authority of the staff, and counts as use of it.
func (a *Staff) NeedElevation(ctx context.Context, who Who, value string) error {
	var last time.Time
	err := a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		last, err = a.ElevationOf(tx, who, value)
		return err
	})
	if err != nil {
		return err
	}
	return a.ElevationUsed(ctx, who, value, last)
}

// StillElevated is NeedElevation that does not count as use.
func (a *Staff) StillElevated(ctx context.Context, who Who, value string) error {
	return a.DB.Read(ctx, func(tx *sqldb.Tx) error {
		_, err := a.ElevationOf(tx, who, value)
		return err
	})
}

// OnDerive tells a test of every derivation and its cost.
func (a *Passwords) OnDerive(fn func(Scrypt)) { a.hasher.derived = fn }

// Turns is the queue of the hasher.
type Turns struct{ turns }

// NewTurns is a queue of its own.
func NewTurns(slots, waiters int, patience time.Duration) *Turns {
	return &Turns{turns{slots: slots, waiters: waiters, patience: patience}}
}

// Enter waits for a slot on behalf of a party.
func (t *Turns) Enter(ctx context.Context, party string) error { return t.enter(ctx, stranger, party) }

// EnterKnown waits for a slot on behalf of somebody who is known.
func (t *Turns) EnterKnown(ctx context.Context, party string) error {
	return t.enter(ctx, known, party)
}

// Leave hands the slot on.
func (t *Turns) Leave() { t.leave() }

// Load is how many work, wait, and are parties of a wait.
func (t *Turns) Load() (working, waiting, parties int) { return t.load() }

func (t *turns) load() (working, waiting, parties int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.working, t.waiting(), len(t.lines[stranger].parties) + len(t.lines[known].parties)
}

// Waiting is how many wait for the hasher.
func (a *Passwords) Waiting() int {
	_, waiting, _ := a.hasher.turns.load()
	return waiting
}

// WaitingKnown is how many of those are known.
func (a *Passwords) WaitingKnown() int {
	t := &a.hasher.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[known].waiting
}

// Suspend keeps a person out until they are restored; what they are signed in with ends.
func (a *Staff) Suspend(ctx context.Context, id, reason string, by audit.Actor) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, found, err := locked(tx, id)
		if err != nil {
			return err
		}
		if !found {
			return notFound()
		}
		return a.suspend(ctx, tx, p, reason, by)
	})
}

// Restore ends a suspension, and undoes a deletion within its hold.
func (a *Staff) Restore(ctx context.Context, id string, by audit.Actor) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, found, err := locked(tx, id)
		if err != nil {
			return err
		}
		if !found || a.isOver(p) {
			return notFound()
		}
		return a.restore(ctx, tx, p, by)
	})
}

// Account is the account of that id.
func (a *Accounts) Account(ctx context.Context, id string) (p Account, err error) {
	var found bool
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		p, found, err = Find(tx, id)
		return err
	})
	if err == nil && !found {
		err = notFound()
	}
	return p, err
}

// Derivations is how many passwords have been derived since the start.
func (a *Passwords) Derivations() int64 { return a.hasher.count.Load() }
