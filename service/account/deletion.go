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
	"svc.dev/svc/service/workspace"
)

// Delete ends an account: nobody gets in any more from now on, and after the hold it is erased. Confirm must be its
// username.
func (a *Accounts) Delete(ctx context.Context, who Who, confirm string) (eraseAt time.Time, err error) {
	if confirm != who.Account.Username {
		return eraseAt, strictjson.Wrong("confirm", strictjson.Invalid)
	}
	if err := a.Sessions.NeedFresh(who); err != nil {
		return eraseAt, err
	}
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := Acting(tx, who)
		if err != nil {
			return err
		}
		if err := cmp.Or(
			refuseHeld(tx, a.Now(), p.ID),
			refuseLastOwner(tx, p.ID),
			a.take(tx, "deletion", "delete-account:"+p.ID, deletionsPerAccount),
		); err != nil {
			return err
		}
		eraseAt = a.Now().Add(a.Hold)
		return cmp.Or(
			tx.Do("delete account", "UPDATE accounts SET deleted_at = $2, version = version + 1, updated_at = $2 WHERE id = $1", p.ID, a.Now().UnixMilli()),
			a.expel(tx, p.ID, "account deleted", ""),
			a.offerReturn(tx, out, p, p.Email),
			a.tell(ctx, tx, p, "account.deleted"),
		)
	})
	if err != nil {
		return time.Time{}, err
	}
	return eraseAt, nil
}

// refuseLastOwner keeps an account whose workspaces other people work in.
func refuseLastOwner(tx *sqldb.Tx, account string) error {
	shared, err := workspace.SharedOf(tx, account)
	if err != nil {
		return err
	}
	if len(shared) > 0 {
		return fault.New(fault.LastOwner, "Other people work in workspaces of this account.", "Remove them first.").With("workspaces", shared)
	}
	return nil
}

// Held is how long a deleted account can come back.
func (a *Accounts) Held() time.Duration { return a.Hold }

// offerReturn mails the one way back from a deletion that there is to an address. Undo links of the address stay good: an
// intruder who changes it and then deletes the account must not be the only one who can bring it back.
func (a *base) offerReturn(tx *sqldb.Tx, out *letters, p Account, email string) error {
	life := a.Hold
	if p.deletedAt != 0 {
		life = max(time.Hour, time.UnixMilli(p.deletedAt).Add(a.Hold).Sub(a.Now()).Truncate(time.Hour)) // as a mail says it
	}
	value := secret.Random()
	return cmp.Or(
		void(tx, a.Now(), p.ID, forUndelete),
		keep(tx, a.Now(), value, token{purpose: forUndelete, account: p.ID, life: life}),
		out.send(tx, email, mail.AccountDeleted(value, life)),
	)
}

// Undelete brings back an account within its hold. One that staff suspended stays suspended.
func (a *Accounts) Undelete(ctx context.Context, value string) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		_, p, err := redeem(tx, a.Now(), value, forUndelete)
		if err != nil {
			return err
		}
		if p.deletedAt == 0 || a.isOver(p) {
			return invalidToken()
		}
		return cmp.Or(
			bringBack(tx, a.Now(), p, "deleted_at = NULL"),
			a.Audit.Append(ctx, tx, p.event(anonymous, "account.restored")),
		)
	})
}

// bringBack takes from an account what keeps its person out, and only that: whoever undoes a deletion does not end a
// suspension by staff. The link by which a deletion is undone does not outlive it.
func bringBack(tx *sqldb.Tx, now time.Time, p Account, set string) error {
	return cmp.Or(
		tx.Do("restore account", "UPDATE accounts SET "+set+", version = version + 1, updated_at = $2 WHERE id = $1", p.ID, now.UnixMilli()),
		void(tx, now, p.ID, forUndelete),
	)
}

// isOver reports whether an account was deleted so long ago that it does not come back.
func (a *base) isOver(p Account) bool {
	return p.deletedAt != 0 && !a.Now().Before(time.UnixMilli(p.deletedAt).Add(a.Hold))
}

// Erase destroys the accounts whose hold is over, and says how many: what is left is a name that nobody gets again.
func (a *Accounts) Erase(ctx context.Context) (erased int, err error) {
	due, err := sqldb.ReadAll(ctx, a.DB, sqldb.Column[string], "SELECT id FROM accounts WHERE deleted_at IS NOT NULL AND deleted_at <= $1 AND username <> id ORDER BY id LIMIT 100",
		a.Now().Add(-a.Hold).UnixMilli())
	if err != nil {
		return 0, err
	}
	for _, id := range due {
		if err := a.erase(ctx, id); err != nil {
			return erased, fmt.Errorf("erase %s: %w", id, err)
		}
		erased++
	}
	return erased, nil
}

func (a *Accounts) erase(ctx context.Context, id string) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, found, err := locked(tx, id)
		if err != nil {
			return err
		}
		if !found || p.deletedAt == 0 || p.deletedAt > a.Now().Add(-a.Hold).UnixMilli() {
			return nil // it came back at the last moment
		}
		if _, err := a.Secrets.DeleteAll(tx, secret.Owner{Kind: "account", Scope: id}); err != nil {
			return err
		}
		if err := cmp.Or(workspace.Abandon(tx, a.Now(), id), a.Keys.Erase(tx, id)); err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM identities WHERE account = $1", "DELETE FROM sessions WHERE account = $1",
			"DELETE FROM tokens WHERE account = $1", "DELETE FROM devices WHERE account = $1", "DELETE FROM elevations WHERE account = $1",
			"DELETE FROM impersonations WHERE staff = $1", "DELETE FROM impersonations WHERE subject = $1",
			`UPDATE accounts SET username = id, display_name = '', email = NULL, email_verified = 0, email_source = '', password = '', service_role = 'none',
				version = version + 1 WHERE id = $1`,
		} {
			if _, err := tx.Exec(statement, id); err != nil {
				return err
			}
		}
		return a.Audit.Append(ctx, tx, p.event(audit.Actor{Kind: audit.System}, "account.erased"))
	})
}
