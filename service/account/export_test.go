package account

import (
	"context"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Bearer is who brings a key, as the gateway asks.
func (a *Accounts) Bearer(ctx context.Context, value string) (b Bearer, err error) {
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		b, err = a.BearerOf(tx, value)
		return err
	})
	if err != nil {
		return b, err
	}
	return b, a.KeyUsed(ctx, b.Key)
}

// NeedElevation refuses unless a session has the authority of the staff, and counts as use of it.
func (a *Accounts) NeedElevation(ctx context.Context, who Who, value string) error {
	var last time.Time
	err := a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		last, err = a.ElevationOf(tx, who, value)
		return err
	})
	if err != nil {
		return err
	}
	return a.ElevationUsed(ctx, who, value, last)
}

// StillElevated is NeedElevation that does not count as use.
func (a *Accounts) StillElevated(ctx context.Context, who Who, value string) error {
	return a.db.Read(ctx, func(tx *sqldb.Tx) error {
		_, err := a.ElevationOf(tx, who, value)
		return err
	})
}

// OnDerive tells a test of every derivation and its cost.
func (a *Accounts) OnDerive(fn func(Scrypt)) { a.hasher.derived = fn }

// Fingerprint is what is stored of a token.
func Fingerprint(value string) string { return fingerprint(value) }

// ParseKey reads the public part of a key.
func ParseKey(value string) (string, bool) { return parseKey(value) }

// Sealed is a text with the checksum of a key.
func Sealed(text string) string { return text + checksum(text) }

// SetMostWaiting bounds how many deliveries wait, of one installation and of all.
func (a *Accounts) SetMostWaiting(one, all int64) { a.mostOfOne.count, a.mostOfAll.count = one, all }

// WakeCourier lets deliveries that are due by the test's clock be passed on.
func (a *Accounts) WakeCourier() { a.queue.Wake() }

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
func (a *Accounts) Waiting() int {
	_, waiting, _ := a.hasher.turns.load()
	return waiting
}
