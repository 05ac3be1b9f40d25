package account

import (
	"cmp"
	"context"
	"errors"
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

// Delete ends an account: nobody gets in any more from now on, and after the hold it is erased. Confirm must be its
// username.
func (a *Accounts) Delete(ctx context.Context, who Who, confirm string) (eraseAt time.Time, err error) {
	if confirm != who.Account.Username {
		return eraseAt, strictjson.Refuse(strictjson.Field{Field: "confirm", Type: strictjson.Invalid})
	}
	if err := a.Sessions.NeedFresh(who); err != nil {
		return eraseAt, err
	}
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := Acting(tx, who)
		if err != nil {
			return err
		}
		if err := refuseHeld(tx, a.Now(), p.ID); err != nil {
			return err
		}
		if err := refuseLastOwner(tx, p.ID); err != nil {
			return err
		}
		if wait, err := throttle.Take(tx, a.Now(), "delete-account:"+p.ID, deletionsPerAccount); err != nil || wait > 0 {
			return cmp.Or(err, limited("deletion", wait))
		}
		eraseAt = a.Now().Add(a.Hold)
		return a.bury(ctx, tx, out, p)
	})
	return eraseAt, err
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

func (a *Accounts) bury(ctx context.Context, tx *sqldb.Tx, out *letters, p Account) error {
	if err := tx.Do("delete account", "UPDATE accounts SET deleted_at = $2, version = version + 1, updated_at = $2 WHERE id = $1", p.ID, a.Now().UnixMilli()); err != nil {
		return err
	}
	if err := a.expel(tx, p.ID, "account deleted", ""); err != nil {
		return err
	}
	if err := a.offerReturn(tx, out, p, p.Email); err != nil {
		return err
	}
	return a.tell(ctx, tx, p, "account.deleted")
}

// Held is how long a deleted account can come back.
func (a *Accounts) Held() time.Duration { return a.Hold }

// offerReturn mails the one way back from a deletion that there is to an address. Undo links of the address stay good: an
// intruder who changes it and then deletes the account must not be the only one who can bring it back.
func (a *base) offerReturn(tx *sqldb.Tx, out *letters, p Account, email string) error {
	if err := void(tx, a.Now(), p.ID, forUndelete); err != nil {
		return err
	}
	life := a.Hold
	if p.deletedAt != 0 {
		life = max(time.Hour, time.UnixMilli(p.deletedAt).Add(a.Hold).Sub(a.Now()).Truncate(time.Hour)) // as a mail says it
	}
	value, err := issue(tx, a.Now(), token{purpose: forUndelete, account: p.ID, life: life})
	if err != nil {
		return err
	}
	return out.send(tx, email, mail.AccountDeleted{Token: value, Life: life})
}

// Undelete brings back an account within its hold. One that staff suspended stays suspended.
func (a *Accounts) Undelete(ctx context.Context, value string) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		_, p, found, err := redeem(tx, a.Now(), value, forUndelete)
		if err != nil {
			return err
		}
		if !found || p.deletedAt == 0 || a.isOver(p) {
			return invalidToken()
		}
		if err := bringBack(tx, a.Now(), p, "deleted_at = NULL"); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, audit.Event{
			Actor: audit.Actor{Kind: audit.Anonymous}, Action: "account.restored", Target: p.target(), Scope: p.scope(),
		})
	})
}

// bringBack takes from an account what keeps its person out, and only that: whoever undoes a deletion does not end a
// suspension by staff. The link by which a deletion is undone does not outlive it.
func bringBack(tx *sqldb.Tx, now time.Time, p Account, set string) error {
	if err := tx.Do("restore account", "UPDATE accounts SET "+set+", version = version + 1, updated_at = $2 WHERE id = $1", p.ID, now.UnixMilli()); err != nil {
		return err
	}
	return void(tx, now, p.ID, forUndelete)
}

// isOver reports whether an account was deleted so long ago that it does not come back.
func (a *base) isOver(p Account) bool {
	return p.deletedAt != 0 && !a.Now().Before(time.UnixMilli(p.deletedAt).Add(a.Hold))
}

// Erase destroys the accounts whose hold is over, and says how many: what is left is a name that nobody gets again.
func (a *Accounts) Erase(ctx context.Context) (erased int, err error) {
	due, err := a.due(ctx)
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

func (a *Accounts) due(ctx context.Context) (ids []string, err error) {
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		ids, err = sqldb.Collect(tx, sqldb.Column[string], "SELECT id FROM accounts WHERE deleted_at IS NOT NULL AND deleted_at <= $1 AND username <> id ORDER BY id LIMIT 100",
			a.Now().Add(-a.Hold).UnixMilli())
		return err
	})
	return ids, err
}

// errNotDue says that an account came back at the last moment.
var errNotDue = errors.New("not due")

func (a *Accounts) erase(ctx context.Context, id string) error {
	err := a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, found, err := locked(tx, id)
		if err != nil {
			return err
		}
		if !found || p.deletedAt == 0 || p.deletedAt > a.Now().Add(-a.Hold).UnixMilli() {
			return errNotDue
		}
		if _, err := a.Secrets.DeleteAll(tx, secret.Owner{Kind: "account", Scope: id}); err != nil {
			return err
		}
		if err := workspace.Abandon(tx, a.Now(), id); err != nil {
			return err
		}
		if err := a.Keys.Erase(tx, id); err != nil {
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
		return a.Audit.Append(ctx, tx, audit.Event{
			Actor: audit.Actor{Kind: "system"}, Action: "account.erased", Target: p.target(), Scope: p.scope(),
		})
	})
	if errors.Is(err, errNotDue) {
		return nil
	}
	return err
}
