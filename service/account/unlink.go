package account

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// Unlink takes a way in from an account, with the sessions that came by it, but for the one it is asked from. The last way
// in stays; a password is one only together with a proven address, and a revoked identity is none that can be relied on.
func (a *Accounts) Unlink(ctx context.Context, who Who, id string) error {
	if err := a.NeedFresh(who); err != nil {
		return err
	}
	var g grant
	err := a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := acting(tx, who)
		if err != nil {
			return err
		}
		i, err := unlinkable(tx, p, id)
		if err != nil {
			return err
		}
		if g, _, err = a.openGrant(tx, p.ID, id); err != nil {
			return err
		}
		if err := a.removeIdentity(tx, p.ID, id); err != nil {
			return err
		}
		if err := a.end(tx, "identity unlinked", "account = $3 AND identity = $4 AND id <> $5", p.ID, id, who.Session.ID); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE sessions SET identity = '' WHERE account = $1 AND identity = $2", p.ID, id); err != nil {
			return fmt.Errorf("forget identity: %w", err)
		}
		if err := out.unlinked(tx, p.Email, i.Login); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, identityEvent(p, id, "identity.unlinked"))
	})
	if err == nil {
		a.giveBack(ctx, g)
	}
	return err
}

// unlinkAll takes ways in from an account whose password is set anew, which leaves it one. It gives the tokens to give back,
// and what the log is to be told. What was unlinked a moment ago is no error.
func (a *Accounts) unlinkAll(tx *sqldb.Tx, out *letters, p Account, ids []string) (given []grant, events []audit.Event, err error) {
	linked, err := identitiesOf(tx, p.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range linked {
		if !slices.Contains(ids, i.ID) {
			continue
		}
		g, _, err := a.openGrant(tx, p.ID, i.ID)
		if err != nil {
			return nil, nil, err
		}
		if err := a.removeIdentity(tx, p.ID, i.ID); err != nil {
			return nil, nil, err
		}
		if err := out.unlinked(tx, p.Email, i.Login); err != nil {
			return nil, nil, err
		}
		e := identityEvent(p, i.ID, "identity.unlinked")
		e.Actor = audit.Actor{Kind: audit.Anonymous}
		given, events = append(given, g), append(events, e)
	}
	return given, events, nil
}

// unlinkable is the identity of that id, if the account has another way in.
func unlinkable(tx *sqldb.Tx, p Account, id string) (Identity, error) {
	all, err := identitiesOf(tx, p.ID)
	if err != nil {
		return Identity{}, err
	}
	var wanted Identity
	ways := 0
	if p.password != "" && p.EmailVerified {
		ways++
	}
	for _, i := range all {
		if i.ID == id {
			wanted = i
		} else if i.Status == connected {
			ways++
		}
	}
	if wanted.ID == "" {
		return wanted, notFound()
	}
	if ways == 0 {
		return wanted, fault.New(LastCredential, "This is the last way into your account.", "Add another one first: a password with a verified e-mail address, or another identity.")
	}
	return wanted, nil
}

// giveBackTime is how long whoever unlinks waits for the provider.
const giveBackTime = 3 * time.Second

// giveBack ends a token at the provider that nobody here has any more. It would end by itself, so a failure is only told.
func (a *Accounts) giveBack(ctx context.Context, g grant) {
	if g.Access == "" {
		return
	}
	ctx, cancel := context.WithTimeout(sqldb.Regardless(ctx), giveBackTime)
	defer cancel()
	app, err := a.app(ctx, byGitHub)
	if err == nil && app.ClientID == g.Client {
		err = a.github.RevokeToken(ctx, app, g.Access)
	}
	if err != nil {
		a.Log.WarnContext(ctx, "token of an unlinked identity was not revoked", "error", err)
	}
}
