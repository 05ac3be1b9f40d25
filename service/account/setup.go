package account

import (
	"cmp"
	"context"
	"errors"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// PrepareSetup makes the link by which the first administrator comes in, and returns its token; the link of before dies.
// It is empty when there is an administrator. Given is the token to use, so that many nodes share one; empty makes one.
func (a *Staff) PrepareSetup(ctx context.Context, given string) (value string, err error) {
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (string, error) {
		if there, err := hasAdmin(tx); err != nil || there {
			return "", err
		}
		value := cmp.Or(given, secret.Random())
		return value, cmp.Or(dropSetup(tx), keep(tx, a.Now(), value, token{purpose: forSetup, life: setupLife}))
	})
}

// dropSetup takes away the link by which the first administrator comes in.
func dropSetup(tx *sqldb.Tx) error {
	return tx.Do("drop set-up link", "DELETE FROM tokens WHERE purpose = $1", forSetup)
}

func hasAdmin(tx *sqldb.Tx) (bool, error) {
	n, err := sqldb.Value[int](tx, "look for an administrator", "SELECT count(*) FROM accounts WHERE service_role = $1 AND deleted_at IS NULL", RoleAdmin)
	return n > 0, err
}

// lockStaff makes those who make administrators wait for each other.
func lockStaff(tx *sqldb.Tx) error { return tx.Alone("svc staff") }

// SetupOpen reports whether the first administrator is still to come.
func (a *Staff) SetupOpen(ctx context.Context) (open bool, err error) {
	there, err := sqldb.Read(ctx, a.DB, hasAdmin)
	return !there && err == nil, err
}

// Setup makes the first administrator. Whoever holds the token is the operator, so the address counts as proven.
func (a *Staff) Setup(ctx context.Context, value string, r Registration) (made Registered, err error) {
	if err := a.admitSetup(ctx, value); err != nil {
		return made, err
	}
	if r, err = a.registrations.check(r); err != nil {
		return made, err
	}
	derived, err := a.hasher.hash(ctx, known, r.Password)
	if err != nil {
		return made, err
	}
	made, err = sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (Registered, error) {
		if err := a.openSetup(tx, value); err != nil {
			return Registered{}, err
		}
		p, w, err := a.createAdmin(ctx, tx, r, derived)
		if err != nil {
			return Registered{}, err
		}
		in, err := a.registrations.firstSession(ctx, tx, p)
		return Registered{SignedIn: in, Created: true, Workspace: w}, err
	})
	if errors.Is(err, errTaken) {
		err = invalidCredentials()
	}
	return made, err
}

// SetupExisting raises somebody who is signed in to the first administrator.
func (a *Staff) SetupExisting(ctx context.Context, value string, who Who) error {
	if err := a.admitSetup(ctx, value); err != nil {
		return err
	}
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := a.openSetup(tx, value); err != nil {
			return err
		}
		p, err := Acting(tx, who)
		if err != nil {
			return err
		}
		return a.setRole(ctx, tx, p, RoleAdmin, p.Actor())
	})
}

// admitSetup refuses a set-up that cannot succeed before it costs anything. It is counted in a transaction of its own: a token
// that is refused must not undo the count.
func (a *Staff) admitSetup(ctx context.Context, value string) error {
	if err := a.Admit(ctx, "setup", perSource); err != nil {
		return err
	}
	return a.DB.Read(ctx, func(tx *sqldb.Tx) error { return a.checkSetup(tx, value) })
}

func (a *Staff) checkSetup(tx *sqldb.Tx, value string) error {
	if there, err := hasAdmin(tx); err != nil || there {
		return cmp.Or[error](err, fault.New(SetupClosed, "This service has an administrator.", "An administrator can grant the role to others."))
	}
	_, err := peek(tx, a.Now(), value, forSetup)
	return err
}

// openSetup uses the token; of two who come with it, one becomes administrator.
func (a *Staff) openSetup(tx *sqldb.Tx, value string) error {
	return cmp.Or(lockStaff(tx), a.checkSetup(tx, value), mustUse(tx, a.Now(), value, forSetup))
}
