package account

import (
	"context"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/throttle"
)

// onPerson runs a verb of an administrator on somebody, and gives the person as it leaves them. Those who change who may
// come in wait for each other, and each must be an administrator when it is their turn.
func (a *Accounts) onPerson(ctx context.Context, by Who, id string, verb func(tx *sqldb.Tx, p Account, out *letters) error) (p Person, err error) {
	if err := a.NeedFresh(by); err != nil {
		return p, err
	}
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		if err := lockStaff(tx); err != nil {
			return err
		}
		if err := stillAdministers(tx, by); err != nil {
			return err
		}
		target, found, err := locked(tx, id)
		if err != nil {
			return err
		}
		if !found || target.Username == target.ID {
			return notFound()
		}
		return verb(tx, target, out)
	})
	if err != nil {
		return p, err
	}
	return a.Person(ctx, id)
}

// stillAdministers reads the role and the session of whoever acts in the transaction of the act.
func stillAdministers(tx *sqldb.Tx, by Who) error {
	p, found, err := oneAccount(tx, "a.id = $1", by.Account.ID)
	switch {
	case err != nil:
		return err
	case !found || !p.alive():
		return unauthenticated()
	case !p.IsStaff():
		return staffOnly()
	case p.Role != RoleAdmin:
		return readsOnly()
	}
	return stillSignedIn(tx, by)
}

func readsOnly() error {
	return fault.New(Forbidden, "Your role does not allow this.", "Support reads everything and changes nothing.").With("role", RoleAdmin)
}

// notOneself keeps an administrator from locking themselves out, so that there is always one left.
func notOneself(by Who, p Account) error {
	if by.Account.ID != p.ID {
		return nil
	}
	return fault.New(Forbidden, "Nobody may do this to themselves.", "Another administrator can.")
}

// SuspendPerson keeps somebody out until they are restored.
func (a *Accounts) SuspendPerson(ctx context.Context, by Who, id, reason string) (Person, error) {
	if problem := checkText(reason, 1, maxReason); problem != "" {
		return Person{}, fields{{Field: "reason", Type: problem}}.refusal()
	}
	return a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) error {
		if err := notOneself(by, p); err != nil {
			return err
		}
		return a.suspend(ctx, tx, p, strings.TrimSpace(reason), by.Account.Actor())
	})
}

// RestorePerson ends a suspension, and undoes a deletion within its hold.
func (a *Accounts) RestorePerson(ctx context.Context, by Who, id string) (Person, error) {
	return a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) error {
		if a.isOver(p) {
			return notFound()
		}
		return a.restore(ctx, tx, p, by.Account.Actor())
	})
}

// SignOutPerson ends all sessions of somebody, and says how many there were.
func (a *Accounts) SignOutPerson(ctx context.Context, by Who, id string) (ended int64, err error) {
	_, err = a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) (err error) {
		since := append([]any{p.ID}, a.aliveSince()...)
		if ended, err = a.endCounted(tx, "ended by staff", "account = $3 AND last_seen_at > $4 AND created_at > $5", since...); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, audit.Event{Actor: by.Account.Actor(), Action: "sessions.revoked", Target: p.target(), Scope: p.scope(), Service: true})
	})
	return ended, err
}

// GrantPerson gives somebody a role over the whole service.
func (a *Accounts) GrantPerson(ctx context.Context, by Who, id, role string) (Person, error) {
	if role != RoleNone && role != RoleSupport && role != RoleAdmin {
		return Person{}, fields{{Field: "role", Type: invalid}}.refusal()
	}
	return a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) error {
		if p.deletedAt != 0 {
			return notFound()
		}
		if err := notOneself(by, p); err != nil {
			return err
		}
		return a.setRole(ctx, tx, p, role, by.Account.Actor())
	})
}

// SendReset mails somebody a link by which they choose a new password: staff never know one.
func (a *Accounts) SendReset(ctx context.Context, by Who, id string) error {
	if !a.CanMail() {
		return fault.New(MailNotConfigured, "This service sends no mail.", "An operator must configure a mail server.")
	}
	var wait time.Duration
	_, err := a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, out *letters) (err error) {
		if p.deletedAt != 0 {
			return notFound()
		}
		if p.Email == "" {
			return fault.Invalid("This account has no e-mail address.")
		}
		if wait, err = throttle.Take(tx, a.Now(), "forgot:"+a.emailKey(p.Email), forgotPerEmail); err != nil || wait > 0 {
			return err
		}
		value, err := a.issue(tx, token{purpose: forReset, account: p.ID, email: p.Email, binding: p.passwordVersion, life: resetLife})
		if err != nil {
			return err
		}
		if err := out.send(tx, p.Email, mail.ResetPassword{Token: value, Life: resetLife}); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, audit.Event{Actor: by.Account.Actor(), Action: "password.reset_sent", Target: p.target(), Scope: p.scope(), Service: true})
	})
	if err == nil && wait > 0 {
		err = limited("forgot", wait)
	}
	return err
}
