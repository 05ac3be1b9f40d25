package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// elevationPrefix lets scanners recognise an elevation's value that leaked.
const elevationPrefix = "svca_"

// Elevated is a session with the authority of the staff: both values are new and shown once.
type Elevated struct {
	SignedIn
	Elevation string // what the browser holds on the Admin surface, beside its session
	Life      time.Duration
}

// IsStaff reports whether the account has authority over the whole service.
func (p Account) IsStaff() bool { return p.Role == RoleSupport || p.Role == RoleAdmin }

// Elevate gives a session of staff their authority, for the right password or, with none, a proof that is still fresh. The
// session gets a new value, and an elevation that it had before ends.
func (a *Staff) Elevate(ctx context.Context, who Who, password string) (up Elevated, err error) {
	if !who.Account.IsStaff() {
		return up, staffOnly()
	}
	if password == "" {
		err = a.sessions.NeedFresh(who)
	} else {
		err = a.passwords.confirm(ctx, who, password)
	}
	if err != nil {
		return up, err
	}
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (up Elevated, err error) {
		p, found, err := locked(tx, who.Account.ID)
		if err != nil {
			return up, err
		}
		if !found || !p.Alive() || p.password != who.Account.password {
			return up, unauthenticated()
		}
		if !p.IsStaff() {
			return up, staffOnly()
		}
		up, err = a.elevate(tx, who, password != "")
		return up, cmp.Or(err, a.tellAll(ctx, tx, p, p.Actor(), "admin.elevated"))
	})
}

// elevate writes the new values. Only a password proves anew whose session it is.
func (a *Staff) elevate(tx *sqldb.Tx, who Who, proven bool) (up Elevated, err error) {
	if proven {
		up.SignedIn, err = a.sessions.renew(tx, who, byPassword)
	} else {
		up.SignedIn, err = replaceToken(tx, who)
	}
	if err != nil {
		return up, err
	}
	up.Elevation, up.Life = elevationPrefix+secret.Random(), a.AdminAbsolute
	return up, tx.Do("elevate session", `INSERT INTO elevations (session, token, account, created_at, last_seen_at) VALUES ($1, $2, $3, $4, $4)
		ON CONFLICT (session) DO UPDATE SET token = excluded.token, account = excluded.account,
			created_at = excluded.created_at, last_seen_at = excluded.last_seen_at`,
		who.Session.ID, secret.Fingerprint(up.Elevation), who.Account.ID, a.Now().UnixMilli())
}

// replaceToken gives a session a new value, and leaves the time of its last proof as it is.
func replaceToken(tx *sqldb.Tx, who Who) (SignedIn, error) {
	value := sessionPrefix + secret.Random()
	if err := change(tx, "replace session's value", unauthenticated(), "UPDATE sessions SET token = $2 WHERE id = $1 AND revoked_at IS NULL",
		who.Session.ID, secret.Fingerprint(value)); err != nil {
		return SignedIn{}, err
	}
	return SignedIn{Who: who, Token: value}, nil
}

// ElevationUsed notes that an elevation is in use, at most once a minute.
func (a *Staff) ElevationUsed(ctx context.Context, who Who, value string, last time.Time) error {
	if a.Now().Sub(last) < seenPause {
		return nil
	}
	return a.DB.Do(ctx, "note elevation", "UPDATE elevations SET last_seen_at = $3 WHERE session = $1 AND token = $2 AND last_seen_at < $3",
		who.Session.ID, secret.Fingerprint(value), a.Now().UnixMilli())
}

// ElevationOf is when the elevation of a session was last used, for staff alone, and as long as it counts. To ask is not to use it.
func (a *Staff) ElevationOf(tx *sqldb.Tx, who Who, value string) (last time.Time, err error) {
	e, err := a.elevation(tx, who, value)
	return e.last, err
}

// ElevatedUntil is when the elevation of a session ends unless it is used before; zero: there is none.
func (a *Staff) ElevatedUntil(ctx context.Context, who Who, value string) (time.Time, error) {
	e, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (elevation, error) { return a.elevation(tx, who, value) })
	if _, refused := errors.AsType[*fault.Error](err); refused {
		return time.Time{}, nil
	}
	return e.until, err
}

// elevation is when one was last used, and when it ends.
type elevation struct{ last, until time.Time }

func (a *Staff) elevation(tx *sqldb.Tx, who Who, value string) (e elevation, err error) {
	if !who.Account.IsStaff() {
		return e, staffOnly()
	}
	if !plausible(elevationPrefix, value) {
		return e, reauthRequired(who.Account.Methods)
	}
	scan := func(row sqldb.Row) (e elevation, err error) {
		var began time.Time
		err = row.Scan(sqldb.Time(&began), sqldb.Time(&e.last))
		e.until = earlier(e.last.Add(a.AdminIdle), began.Add(a.AdminAbsolute))
		return e, err
	}
	e, found, err := sqldb.First(tx, "find elevation", scan, "SELECT created_at, last_seen_at FROM elevations WHERE session = $1 AND token = $2 AND account = $3",
		who.Session.ID, secret.Fingerprint(value), who.Account.ID)
	if err == nil && (!found || !a.Now().Before(e.until)) {
		err = reauthRequired(who.Account.Methods)
	}
	return e, err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Lower ends the elevation of a session. It does not matter whether there was one.
func (a *Staff) Lower(ctx context.Context, who Who) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec("DELETE FROM elevations WHERE session = $1", who.Session.ID)
		if err != nil {
			return fmt.Errorf("end elevation: %w", err)
		}
		if n == 0 {
			return nil
		}
		return a.tellAll(ctx, tx, who.Account, who.Account.Actor(), "admin.lowered")
	})
}

// lowerAll ends the elevations of an account whose role changes, and what it looks at: they do not come back with a role.
func lowerAll(tx *sqldb.Tx, now time.Time, account string) error {
	return cmp.Or(
		tx.Do("end elevations", "DELETE FROM elevations WHERE account = $1", account),
		// Their time is over; that they ended is told with all whose time is.
		tx.Do("end impersonations", "UPDATE impersonations SET expires_at = $2 WHERE staff = $1 AND ended_at IS NULL AND expires_at > $2", account, now.UnixMilli()),
	)
}

func staffOnly() error { return fault.New(fault.AdminRequired, "Only staff may do this.", "") }
