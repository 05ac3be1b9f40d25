package account

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// Emails are the addresses of accounts: proven, changed, and taken back.
type Emails struct {
	*base
	sessions      *Sessions
	registrations *Registrations
}

// Verify answers the mail of a sign-up, of an address to be proven, or of one to be changed to. It signs nobody in.
// Current is the session of whoever asks, if there is one: it survives when the others must not.
func (a *Emails) Verify(ctx context.Context, value string, current *Who) error {
	return a.insist(ctx, func(tx *sqldb.Tx, out *letters) error {
		t, p, err := redeem(tx, a.Now(), value, forSignUp, forVerifying, forEmailChange)
		switch {
		case err != nil:
			return err
		case t.purpose == forSignUp:
			return a.registrations.completeSignUp(ctx, tx, t)
		case t.purpose == forEmailChange:
			return a.completeEmailChange(ctx, tx, out, p, t, current)
		case !p.Alive() || p.Email != t.email:
			return invalidToken()
		}
		return a.proveEmail(ctx, tx, p, current)
	})
}

// proveEmail marks an address as its holder's, and the first time puts out whoever else got into the account before.
func (a *base) proveEmail(ctx context.Context, tx *sqldb.Tx, p Account, current *Who) error {
	if p.EmailVerified {
		return nil
	}
	if err := tx.Do("verify e-mail", "UPDATE accounts SET email_verified = 1, version = version + 1, updated_at = $2 WHERE id = $1", p.ID, a.Now().UnixMilli()); err != nil {
		return err
	}
	events, err := a.putOut(tx, p, current)
	return cmp.Or(err, a.Audit.Append(ctx, tx, append(events, p.event(p.Actor(), "email.verified"))...))
}

// putOut leaves an account to the holder of its address, at the first proof of one: sessions, keys, pending changes and
// identities end, but for the session that proves. Without such a session the holder may never have been inside, and nobody
// else stays in the account's workspaces either. It returns what the logs are to be told.
func (a *base) putOut(tx *sqldb.Tx, p Account, current *Who) ([]audit.Event, error) {
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
func (a *base) reclaim(tx *sqldb.Tx, p Account, since time.Time, by audit.Actor) (events []audit.Event, err error) {
	all, err := workspace.Reclaim(tx, p.ID, since)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		keys, err := a.Keys.Since(tx, a.Now(), w.ID, since)
		if err != nil {
			return nil, err
		}
		bound, err := a.Unbind(tx, w.ID, since)
		if err != nil {
			return nil, err
		}
		if w.Ended+keys+bound > 0 {
			target := audit.Target{Kind: "workspace", ID: w.ID}
			events = append(events, audit.Event{Actor: by, Action: "workspace.reclaimed", Target: target, Scope: w.Scope})
		}
	}
	return events, nil
}

// expel ends all sessions but one, all keys, devices and everything that waits for an answer.
func (a *base) expel(tx *sqldb.Tx, account, reason, session string) error {
	return cmp.Or(
		end(tx, a.Now(), reason, "account = $3 AND id <> $4", account, session),
		a.Keys.OfMaker(tx, a.Now(), account),
		tx.Do("forget devices", "DELETE FROM devices WHERE account = $1", account),
		void(tx, a.Now(), account, forVerifying, forReset, forEmailChange, forLink, forState, ForInstall),
	)
}

// SendVerification sends another mail to prove the address of somebody signed in.
func (a *Emails) SendVerification(ctx context.Context, who Who) error {
	if !a.CanMail() {
		return mailNotConfigured()
	}
	return a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := Acting(tx, who)
		if err != nil || p.Email == "" || p.EmailVerified {
			return err
		}
		wait, err := throttle.Take(tx, a.Now(), "verify-mail:"+p.ID, mailsPerEmail)
		if err != nil || wait > 0 {
			return err
		}
		value, err := issue(tx, a.Now(), token{purpose: forVerifying, account: p.ID, email: p.Email, life: verifyLife})
		return cmp.Or(err, out.send(tx, p.Email, mail.VerifyEmail(value, verifyLife)))
	})
}

// Change begins to change an address: the new one must be proven first. Whether somebody holds it is not told.
func (a *Emails) Change(ctx context.Context, who Who, address string) error {
	email, err := mail.Normal(address)
	if err != nil {
		return strictjson.Wrong("email", err.Error())
	}
	if err := a.sessions.NeedFresh(who); err != nil {
		return err
	}
	if !a.CanMail() {
		return mailNotConfigured()
	}
	return a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := Acting(tx, who)
		if err != nil {
			return err
		}
		if err := cmp.Or(
			refuseHeld(tx, a.Now(), p.ID),
			a.take(tx, "email", "change-mail:"+p.ID, throttle.Rate{Limit: 10, Per: time.Hour}),
		); err != nil {
			return err
		}
		held, taken, err := byEmail(tx, email)
		if err != nil {
			return err
		}
		value := secret.Random()
		if err := cmp.Or(
			void(tx, a.Now(), p.ID, forEmailChange),
			keep(tx, a.Now(), value, token{purpose: forEmailChange, account: p.ID, email: email, binding: p.passwordVersion, life: verifyLife}),
		); err != nil {
			return err
		}
		if taken {
			return out.haveAccount(tx, held)
		}
		return out.send(tx, email, mail.ChangeEmail(value, verifyLife))
	})
}

// completeEmailChange gives the account the address that was just proven, and the old one a way back. Ways back that there
// are already stay good: the oldest address wins.
func (a *Emails) completeEmailChange(ctx context.Context, tx *sqldb.Tx, out *letters, p Account, t token, current *Who) error {
	_, taken, err := byEmail(tx, t.email)
	if err != nil {
		return err
	}
	if !p.Alive() || taken || p.passwordVersion != t.binding {
		return invalidToken()
	}
	if err := cmp.Or(setEmail(tx, a.Now(), p.ID, t.email, true), void(tx, a.Now(), p.ID, forVerifying, forReset)); err != nil {
		return err
	}
	var events []audit.Event
	if p.EmailVerified {
		err = a.offerUndo(tx, out, p)
	} else {
		events, err = a.putOut(tx, p, current)
	}
	return cmp.Or(err, a.Audit.Append(ctx, tx, append(events, p.event(p.Actor(), "email.changed", "email"))...))
}

// offerUndo mails a way back to the address that an account had until this change.
func (a *Emails) offerUndo(tx *sqldb.Tx, out *letters, p Account) error {
	value, err := issue(tx, a.Now(), token{purpose: forEmailUndo, account: p.ID, email: p.Email, binding: p.Version + 1, life: undoLife})
	return cmp.Or(err, out.send(tx, p.Email, mail.EmailChanged(value, undoLife)))
}

// setEmail gives an account an address that is free. On PostgreSQL somebody may take it at this moment; then the transaction
// fails with errTaken, and whoever insists looks again.
func setEmail(tx *sqldb.Tx, now time.Time, account, email string, verified bool) error {
	_, err := tx.Exec(`UPDATE accounts SET email = NULLIF($2, ''), email_verified = $3, email_in_use = 0, version = version + 1, updated_at = $4
		WHERE id = $1`, account, email, sqldb.Bit(verified), now.UnixMilli())
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
