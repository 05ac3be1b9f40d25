package account

import (
	"context"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// Verify answers the mail of a sign-up, of an address to be proven, or of one to be changed to. It signs nobody in.
// Current is the session of whoever asks, if there is one: it survives when the others must not.
func (a *Accounts) Verify(ctx context.Context, value string, current *Who) error {
	return a.insist(ctx, func(tx *sqldb.Tx, out *letters) error {
		t, p, found, err := a.redeem(tx, value, forSignUp, forVerifying, forEmailChange)
		if err != nil {
			return err
		}
		switch {
		case !found:
			return invalidToken()
		case t.purpose == forSignUp:
			return a.completeSignUp(ctx, tx, t)
		case t.purpose == forEmailChange:
			return a.completeEmailChange(ctx, tx, out, p, t, current)
		case !p.alive() || p.Email != t.email:
			return invalidToken()
		}
		return a.proveEmail(ctx, tx, p, current)
	})
}

// proveEmail marks an address as its holder's, and the first time puts out whoever else got into the account before.
func (a *Accounts) proveEmail(ctx context.Context, tx *sqldb.Tx, p Account, current *Who) error {
	if p.EmailVerified {
		return nil
	}
	if _, err := tx.Exec("UPDATE accounts SET email_verified = 1, version = version + 1, updated_at = $2 WHERE id = $1", p.ID, a.Now().UnixMilli()); err != nil {
		return fmt.Errorf("verify e-mail: %w", err)
	}
	events, err := a.putOut(tx, p, current)
	if err != nil {
		return err
	}
	return a.Audit.Append(ctx, tx, append(events, audit.Event{Actor: p.Actor(), Action: "email.verified", Target: p.target(), Scope: p.scope()})...)
}

// putOut leaves an account to the holder of its address, at the first proof of one: sessions, keys, pending changes and
// identities end, but for the session that proves. Without such a session the holder may never have been inside, and nobody
// else stays in the account's workspaces either. It returns what the logs are to be told.
func (a *Accounts) putOut(tx *sqldb.Tx, p Account, current *Who) ([]audit.Event, error) {
	inside := current != nil && current.Account.ID == p.ID
	session, identity := "", ""
	if inside {
		session, identity = current.Session.ID, current.Session.identity
	}
	if err := a.expel(tx, p.ID, "e-mail verified", session); err != nil {
		return nil, err
	}
	if err := a.dropIdentities(tx, p.ID, func(i Identity) bool { return i.ID != identity }); err != nil || inside {
		return nil, err
	}
	return a.reclaim(tx, p, time.Time{}, p.Actor())
}

// reclaim takes from an account's workspaces what came to them since a time: people, invitations, keys and installations end,
// whoever they came by. The zero time leaves the workspaces to the account alone.
func (a *Accounts) reclaim(tx *sqldb.Tx, p Account, since time.Time, by audit.Actor) (events []audit.Event, err error) {
	all, err := workspace.Reclaim(tx, p.ID, since)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		keys, err := tx.Exec("UPDATE api_keys SET revoked_at = $2 WHERE workspace = $1 AND created_at >= $3 AND (revoked_at IS NULL OR revoked_at > $2)",
			w.ID, a.Now().UnixMilli(), since.UnixMilli())
		if err != nil {
			return nil, fmt.Errorf("revoke keys: %w", err)
		}
		// What still waits for an installation that is bound no more is dropped when its turn comes.
		bound, err := tx.Exec("DELETE FROM installation_bindings WHERE workspace = $1 AND created_at >= $2", w.ID, since.UnixMilli())
		if err != nil {
			return nil, fmt.Errorf("unbind installations: %w", err)
		}
		if w.Ended+keys+bound > 0 {
			target := audit.Target{Kind: "workspace", ID: w.ID}
			events = append(events, audit.Event{Actor: by, Action: "workspace.reclaimed", Target: target, Scope: w.Scope})
		}
	}
	return events, nil
}

// expel ends all sessions but one, all keys, devices and everything that waits for an answer.
func (a *Accounts) expel(tx *sqldb.Tx, account, reason, session string) error {
	if err := a.end(tx, reason, "account = $3 AND id <> $4", account, session); err != nil {
		return err
	}
	// One that was rotated lives on for its grace, and must not.
	if _, err := tx.Exec("UPDATE api_keys SET revoked_at = $2 WHERE creator = $1 AND (revoked_at IS NULL OR revoked_at > $2)", account, a.Now().UnixMilli()); err != nil {
		return fmt.Errorf("revoke keys: %w", err)
	}
	if _, err := tx.Exec("DELETE FROM devices WHERE account = $1", account); err != nil {
		return fmt.Errorf("forget devices: %w", err)
	}
	return a.void(tx, account, forVerifying, forReset, forEmailChange, forLink, forState, forInstall)
}

// SendVerification sends another mail to prove the address of somebody signed in.
func (a *Accounts) SendVerification(ctx context.Context, who Who) error {
	if !a.CanMail() {
		return mailNotConfigured()
	}
	return a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := acting(tx, who)
		if err != nil || p.Email == "" || p.EmailVerified {
			return err
		}
		wait, err := throttle.Take(tx, a.Now(), "verify-mail:"+p.ID, mailsPerEmail)
		if err != nil || wait > 0 {
			return err
		}
		return a.sendVerification(tx, out, p)
	})
}

func (a *Accounts) sendVerification(tx *sqldb.Tx, out *letters, p Account) error {
	value, err := a.issue(tx, token{purpose: forVerifying, account: p.ID, email: p.Email, life: verifyLife})
	if err != nil {
		return err
	}
	return out.verify(tx, p.Email, value)
}

// ChangeEmail begins to change an address: the new one must be proven first. Whether somebody holds it is not told.
func (a *Accounts) ChangeEmail(ctx context.Context, who Who, address string) error {
	email, err := NormalEmail(address)
	if err != nil {
		return fields{{Field: "email", Type: err.Error()}}.refusal()
	}
	if err := a.NeedFresh(who); err != nil {
		return err
	}
	if !a.CanMail() {
		return mailNotConfigured()
	}
	return a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := acting(tx, who)
		if err != nil {
			return err
		}
		if err := a.refuseHeld(tx, p.ID); err != nil {
			return err
		}
		wait, err := throttle.Take(tx, a.Now(), "change-mail:"+p.ID, throttle.Rate{Limit: 10, Per: time.Hour})
		if err != nil {
			return err
		}
		if wait > 0 {
			return limited("email", wait)
		}
		held, taken, err := byEmail(tx, email)
		if err != nil {
			return err
		}
		if err := a.void(tx, p.ID, forEmailChange); err != nil {
			return err
		}
		value, err := a.issue(tx, token{
			purpose: forEmailChange, account: p.ID, email: email, binding: p.passwordVersion, life: verifyLife,
		})
		if err != nil {
			return err
		}
		if taken {
			return out.haveAccount(tx, held)
		}
		return out.changeEmail(tx, email, value)
	})
}

// completeEmailChange gives the account the address that was just proven, and the old one a way back. Ways back that there
// are already stay good: the oldest address wins.
func (a *Accounts) completeEmailChange(ctx context.Context, tx *sqldb.Tx, out *letters, p Account, t token, current *Who) error {
	_, taken, err := byEmail(tx, t.email)
	if err != nil {
		return err
	}
	if !p.alive() || taken || p.passwordVersion != t.binding {
		return invalidToken()
	}
	if err := a.setEmail(tx, p.ID, t.email, true); err != nil {
		return err
	}
	if err := a.void(tx, p.ID, forVerifying, forReset); err != nil {
		return err
	}
	var events []audit.Event
	if p.EmailVerified {
		err = a.offerUndo(tx, out, p)
	} else {
		events, err = a.putOut(tx, p, current)
	}
	if err != nil {
		return err
	}
	return a.Audit.Append(ctx, tx, append(events, audit.Event{
		Actor: p.Actor(), Action: "email.changed", Target: p.target(), Scope: p.scope(), Changes: []string{"email"},
	})...)
}

// offerUndo mails a way back to the address that an account had until this change.
func (a *Accounts) offerUndo(tx *sqldb.Tx, out *letters, p Account) error {
	value, err := a.issue(tx, token{purpose: forEmailUndo, account: p.ID, email: p.Email, binding: p.Version + 1, life: undoLife})
	if err != nil {
		return err
	}
	return out.emailChanged(tx, p.Email, value)
}

// setEmail gives an account an address that is free. On PostgreSQL somebody may take it at this moment; then the transaction
// fails with errTaken, and whoever insists looks again.
func (a *Accounts) setEmail(tx *sqldb.Tx, account, email string, verified bool) error {
	_, err := tx.Exec(`UPDATE accounts SET email = NULLIF($2, ''), email_verified = $3, email_in_use = 0, version = version + 1, updated_at = $4
		WHERE id = $1`, account, email, bit(verified), a.Now().UnixMilli())
	if sqldb.IsTaken(err) {
		return errTaken
	}
	if err != nil {
		return fmt.Errorf("set e-mail: %w", err)
	}
	return nil
}

func mailNotConfigured() error {
	return fault.New(MailNotConfigured, "This service sends no mail.", "An operator must set smtp.url first.")
}
