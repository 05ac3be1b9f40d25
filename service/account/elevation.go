package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// elevationPrefix lets scanners recognise an elevation's value that leaked.
const elevationPrefix = "svca_"

// Elevated is a session with the authority of the staff: both values are new and shown once.
type Elevated struct {
	SignedIn
	Elevation string // what the browser holds on the Admin surface, beside its session
}

// IsStaff reports whether the account has authority over the whole service.
func (p Account) IsStaff() bool { return p.Role == RoleSupport || p.Role == RoleAdmin }

// Elevate gives a session of staff their authority, for the right password or, with none, a proof that is still fresh. The
// session gets a new value, and an elevation that it had before ends.
func (a *Accounts) Elevate(ctx context.Context, who Who, password string) (up Elevated, err error) {
	if !who.Account.IsStaff() {
		return up, staffOnly()
	}
	if password == "" {
		err = a.NeedFresh(who)
	} else {
		err = a.confirm(ctx, who, password)
	}
	if err != nil {
		return up, err
	}
	err = a.db.Write(ctx, func(tx *sqldb.Tx) error {
		p, found, err := locked(tx, who.Account.ID)
		if err != nil {
			return err
		}
		if !found || !p.alive() || p.password != who.Account.password {
			return unauthenticated()
		}
		if !p.IsStaff() {
			return staffOnly()
		}
		if up, err = a.elevate(tx, who, password != ""); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, audit.Event{Actor: p.Actor(), Action: "admin.elevated", Target: p.target(), Scope: p.scope(), Service: true})
	})
	return up, err
}

// elevate writes the new values. Only a password is a new proof of who it is.
func (a *Accounts) elevate(tx *sqldb.Tx, who Who, proven bool) (up Elevated, err error) {
	if proven {
		up.SignedIn, err = a.renew(tx, who, byPassword)
	} else {
		up.SignedIn, err = a.replaceToken(tx, who)
	}
	if err != nil {
		return up, err
	}
	up.Elevation = elevationPrefix + random()
	_, err = tx.Exec(`INSERT INTO elevations (session, token, account, created_at, last_seen_at) VALUES ($1, $2, $3, $4, $4)
		ON CONFLICT (session) DO UPDATE SET token = excluded.token, account = excluded.account,
			created_at = excluded.created_at, last_seen_at = excluded.last_seen_at`,
		who.Session.ID, fingerprint(up.Elevation), who.Account.ID, a.Now().UnixMilli())
	if err != nil {
		return up, fmt.Errorf("elevate session: %w", err)
	}
	return up, nil
}

// replaceToken gives a session a new value, and leaves the time of its last proof as it is.
func (a *Accounts) replaceToken(tx *sqldb.Tx, who Who) (SignedIn, error) {
	value := sessionPrefix + random()
	n, err := tx.Exec("UPDATE sessions SET token = $2 WHERE id = $1 AND revoked_at IS NULL", who.Session.ID, fingerprint(value))
	if err != nil {
		return SignedIn{}, fmt.Errorf("replace session's value: %w", err)
	}
	if n == 0 {
		return SignedIn{}, unauthenticated()
	}
	return SignedIn{Who: who, Token: value}, nil
}

// NeedElevation refuses unless the session, which must be alive, is one of staff and the value is that of its elevation.
// To be asked is to be used: the idle time begins anew.
func (a *Accounts) NeedElevation(ctx context.Context, who Who, value string) error {
	seen, err := a.elevation(ctx, who, value)
	if err != nil || a.Now().Sub(seen) < seenPause {
		return err
	}
	now := a.Now().UnixMilli()
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec("UPDATE elevations SET last_seen_at = $3 WHERE session = $1 AND token = $2 AND last_seen_at < $3", who.Session.ID, fingerprint(value), now)
		return err
	})
}

// StillElevated is NeedElevation of what is open already: it does not count as use.
func (a *Accounts) StillElevated(ctx context.Context, who Who, value string) error {
	_, err := a.elevation(ctx, who, value)
	return err
}

// elevation is when an elevation was last used that counts.
func (a *Accounts) elevation(ctx context.Context, who Who, value string) (seen time.Time, err error) {
	if !who.Account.IsStaff() {
		return seen, staffOnly()
	}
	if len(value) != len(elevationPrefix)+43 || value[:len(elevationPrefix)] != elevationPrefix {
		return seen, reauthRequired(who.Account.Methods)
	}
	var began, last int64
	err = a.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT created_at, last_seen_at FROM elevations WHERE session = $1 AND token = $2 AND account = $3",
			who.Session.ID, fingerprint(value), who.Account.ID).Scan(&began, &last)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return seen, reauthRequired(who.Account.Methods)
	}
	if err != nil {
		return seen, fmt.Errorf("find elevation: %w", err)
	}
	now, seen := a.Now(), time.UnixMilli(last)
	if !now.Before(seen.Add(a.AdminIdle)) || !now.Before(time.UnixMilli(began).Add(a.AdminAbsolute)) {
		return seen, reauthRequired(who.Account.Methods)
	}
	return seen, nil
}

// Lower ends the elevation of a session. It does not matter whether there was one.
func (a *Accounts) Lower(ctx context.Context, who Who) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec("DELETE FROM elevations WHERE session = $1", who.Session.ID)
		if err != nil {
			return fmt.Errorf("end elevation: %w", err)
		}
		if n == 0 {
			return nil
		}
		return a.Audit.Append(ctx, tx, audit.Event{
			Actor: who.Account.Actor(), Action: "admin.lowered", Target: who.Account.target(), Scope: who.Account.scope(), Service: true,
		})
	})
}

// lowerAll ends the elevations of an account whose role changes, and what it looks at: they do not come back with a role.
func (a *Accounts) lowerAll(tx *sqldb.Tx, account string) error {
	if _, err := tx.Exec("DELETE FROM elevations WHERE account = $1", account); err != nil {
		return fmt.Errorf("end elevations: %w", err)
	}
	// Their time is over; that they ended is told with all whose time is.
	_, err := tx.Exec("UPDATE impersonations SET expires_at = $2 WHERE staff = $1 AND ended_at IS NULL AND expires_at > $2", account, a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("end impersonations: %w", err)
	}
	return nil
}

func staffOnly() error { return fault.New(AdminRequired, "Only staff may do this.", "") }
