package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// operator is whoever holds the machine.
var operator = audit.Actor{Kind: "operator"}

// CreateAdmin makes an administrator, on the word of the operator.
func (a *Accounts) CreateAdmin(ctx context.Context, r Registration) (p Account, err error) {
	if r, err = a.check(r); err != nil {
		return p, err
	}
	derived, err := a.hasher.hash(ctx, known, r.Password)
	if err != nil {
		return p, err
	}
	err = a.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if err := lockStaff(tx); err != nil {
			return err
		}
		p, _, err = a.createAdmin(ctx, tx, r, derived)
		return err
	})
	if errors.Is(err, errTaken) {
		err = fault.Invalid("An account has this e-mail address: grant it the role instead.")
	}
	return p, err
}

func (a *Accounts) createAdmin(ctx context.Context, tx *sqldb.Tx, r Registration, derived string) (Account, workspace.Workspace, error) {
	p, w, err := a.create(tx, birth{
		username: r.Username, displayName: r.DisplayName, email: r.Email, verified: true, source: sourceSetup, password: derived, role: RoleAdmin,
	})
	if err != nil {
		return p, w, err
	}
	if _, err := tx.Exec("DELETE FROM tokens WHERE purpose = $1", forSetup); err != nil {
		return p, w, fmt.Errorf("drop set-up link: %w", err)
	}
	return p, w, a.Audit.Append(ctx, tx, audit.Event{Actor: operator, Action: "admin.created", Target: p.target(), Scope: p.scope(), Changes: []string{"serviceRole"}})
}

// Named is the account of a username or of an e-mail address, for the operator. An address that nobody has proven names
// nobody: whoever signed up with it first may be anyone.
func (a *Accounts) Named(ctx context.Context, username, email string) (p Account, err error) {
	var found bool
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		if username != "" {
			p, found, err = oneAccount(tx, "a.username = $1", lowerASCII(username))
			return err
		}
		normal, err := NormalEmail(email)
		if err != nil {
			return fields{{Field: "email", Type: err.Error()}}.refusal()
		}
		p, found, err = byEmail(tx, normal)
		return err
	})
	switch {
	case err != nil:
		return Account{}, err
	case !found || p.deletedAt != 0:
		return Account{}, fault.New(ItemNotFound, fmt.Sprintf("No account is called %s.", cmp.Or(username, email)), "")
	case username == "" && !p.EmailVerified:
		return Account{}, fault.Invalid("Nobody has proven that this e-mail address is theirs: name the account by its username or id.")
	}
	return p, nil
}

// Grant gives an account a role over the whole service, on the word of the operator.
func (a *Accounts) Grant(ctx context.Context, id, role string) (p Account, err error) {
	if role != RoleNone && role != RoleSupport && role != RoleAdmin {
		return p, fields{{Field: "role", Type: invalid}}.refusal()
	}
	err = a.db.Write(ctx, func(tx *sqldb.Tx) error {
		if err := lockStaff(tx); err != nil {
			return err
		}
		var found bool
		if p, found, err = locked(tx, id); err != nil {
			return err
		}
		if !found || p.deletedAt != 0 {
			return notFound()
		}
		if err := a.setRole(ctx, tx, p, role, operator); err != nil {
			return err
		}
		p.Role = role
		return nil
	})
	return p, err
}

func (a *Accounts) setRole(ctx context.Context, tx *sqldb.Tx, p Account, role string, by audit.Actor) error {
	_, err := tx.Exec("UPDATE accounts SET service_role = $2, version = version + 1, updated_at = $3 WHERE id = $1", p.ID, role, a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("set role: %w", err)
	}
	if role != p.Role {
		if err := errors.Join(a.lowerAll(tx, p.ID), a.endStaffKeys(tx, p.ID)); err != nil {
			return err
		}
	}
	if role == RoleAdmin {
		if _, err := tx.Exec("DELETE FROM tokens WHERE purpose = $1", forSetup); err != nil {
			return fmt.Errorf("drop set-up link: %w", err)
		}
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "admin.granted", Target: p.target(), Scope: p.scope(), Changes: []string{"serviceRole"}, Service: true})
}

// Suspend keeps a person out until they are restored; what they are signed in with ends.
func (a *Accounts) Suspend(ctx context.Context, id, reason string, by audit.Actor) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
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

func (a *Accounts) suspend(ctx context.Context, tx *sqldb.Tx, p Account, reason string, by audit.Actor) error {
	_, err := tx.Exec("UPDATE accounts SET suspended_at = COALESCE(suspended_at, $2), suspend_reason = $3, version = version + 1, updated_at = $2 WHERE id = $1",
		p.ID, a.Now().UnixMilli(), reason)
	if err != nil {
		return fmt.Errorf("suspend account: %w", err)
	}
	if err := a.end(tx, "account suspended", "account = $3", p.ID); err != nil {
		return err
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "account.suspended", Target: p.target(), Scope: p.scope(), Service: true})
}

// Restore ends a suspension, and undoes a deletion within its hold.
func (a *Accounts) Restore(ctx context.Context, id string, by audit.Actor) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
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

// restore is what staff do: it ends a suspension as well as a deletion.
func (a *Accounts) restore(ctx context.Context, tx *sqldb.Tx, p Account, by audit.Actor) error {
	if err := a.bringBack(tx, p, "deleted_at = NULL, suspended_at = NULL, suspend_reason = ''"); err != nil {
		return err
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "account.restored", Target: p.target(), Scope: p.scope(), Service: true})
}
