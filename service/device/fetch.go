package device

import (
	"cmp"
	"context"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

// Verdict is why a program gets no key, as RFC 8628 calls it; empty: it gets one.
type Verdict string

// The verdicts there are.
const (
	Pending  Verdict = "authorization_pending" // nobody has answered yet
	SlowDown Verdict = "slow_down"             // it asks too often: from now on it waits longer
	Denied   Verdict = "access_denied"
	Expired  Verdict = "expired_token" // or spent, or none of ours
)

// slack is how much earlier than it should a program may ask: one answer takes longer on its way than the next.
const slack = time.Second

// Given is a key with its value, which nobody has seen.
type Given struct {
	apikey.Key
	Value string
}

// Fetch is the key of the program that has the code, once it was approved. It is given once. Whoever comes again with a code by which
// one was given shows that the answer was lost, or that two have the code: the key ends (RFC 6749, 4.1.2). Of those who come at once one
// gets it, and the others are only told to slow down.
func (d *Devices) Fetch(ctx context.Context, code string) (g Given, v Verdict, err error) {
	if !plausible(code) {
		return g, Expired, nil // the database need not be asked
	}
	err = d.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		g, v, err = d.fetch(ctx, tx, code)
		return err
	})
	if err != nil {
		return Given{}, "", err
	}
	return g, v, nil
}

func (d *Devices) fetch(ctx context.Context, tx *sqldb.Tx, code string) (g Given, v Verdict, err error) {
	p, found, err := one(tx, "code = $1"+tx.ForUpdate(), secret.Fingerprint(code))
	now := d.Now()
	switch {
	case err != nil:
		return g, "", err
	case !found || !now.Before(p.ExpiresAt):
		return g, Expired, nil
	case p.state == denied:
		return g, Denied, nil
	case now.Sub(p.polledAt) < p.pause-slack:
		return g, SlowDown, p.polled(tx, now, p.pause+Pause)
	}
	if err := p.polled(tx, now, p.pause); err != nil {
		return g, "", err
	}
	switch p.state {
	case waiting:
		return g, Pending, nil
	case given:
		return g, Expired, d.Keys.Withdraw(ctx, tx, p.key)
	}
	return d.give(ctx, tx, p)
}

// polled notes that a program has looked, and how long it is to wait.
func (p pairing) polled(tx *sqldb.Tx, now time.Time, pause time.Duration) error {
	return tx.Do("note poll", "UPDATE device_pairings SET polled_at = $2, pause = $3 WHERE id = $1", p.id, now.UnixMilli(), pause.Milliseconds())
}

// give makes the key that was approved, unless whoever approved it could not any more.
func (d *Devices) give(ctx context.Context, tx *sqldb.Tx, p pairing) (g Given, v Verdict, err error) {
	by, in, stands, err := p.approver(tx)
	if err != nil {
		return g, "", err
	}
	if !stands {
		if err := p.become(tx, denied, ""); err != nil {
			return g, "", err
		}
		return g, Denied, d.Audit.Append(ctx, tx, audit.Event{
			Actor: audit.Actor{Kind: audit.Anonymous}, Action: "device.void", Target: p.target(), Scope: p.scope, Outcome: audit.Deny,
		})
	}
	if g.Key, g.Value, err = d.Keys.ForDevice(ctx, tx, by, in, apikey.Draft{Name: cmp.Or(p.Client, unnamed), Scopes: p.scopes, ExpiresAt: &p.keyExpiresAt}); err != nil {
		return g, "", err
	}
	return g, "", p.become(tx, given, g.ID)
}

func (p pairing) become(tx *sqldb.Tx, state, key string) error {
	return tx.Do("end pairing", "UPDATE device_pairings SET state = $2, key = $3 WHERE id = $1", p.id, state, key)
}

// approver is whoever approved the pairing, and their place in its workspace. It stands if they could approve it now, and have been there
// ever since.
func (p pairing) approver(tx *sqldb.Tx) (by account.Account, in workspace.Membership, stands bool, err error) {
	by, found, err := account.Find(tx, p.account)
	if err != nil || !found || !by.Alive() {
		return by, in, false, err
	}
	in, found, err = workspace.Find(tx, p.account, p.scope)
	if err != nil || in.ID != p.workspace || refuse(in, found, p.scopes) != nil {
		return by, in, false, err
	}
	stands, err = sqldb.Value[bool](tx, "find member", "SELECT EXISTS (SELECT 1 FROM members WHERE workspace = $1 AND account = $2 AND created_at <= $3)",
		p.workspace, p.account, p.decidedAt.UnixMilli())
	return by, in, stands, err
}
