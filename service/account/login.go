package account

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
)

// perSource limits attempts, the same for addresses that exist and for those that do not.
var perSource = throttle.Rate{Limit: 30, Per: 5 * time.Minute}

// Passwords are how people prove by what they know that they are who they are, and come by another.
type Passwords struct {
	*base
	sessions   *Sessions
	identities *Identities
}

// Login signs a person in by password, after AdmitLogin. Whatever is wrong, it costs one derivation and is told in one sentence. Device is
// what an earlier SignedIn gave to this browser, or empty.
func (a *Passwords) Login(ctx context.Context, address, password, device string) (SignedIn, error) {
	email, err := mail.Normal(address)
	if err != nil {
		return SignedIn{}, strictjson.Wrong("email", err.Error())
	}
	attempt, err := a.attempt(ctx, email, device)
	if err != nil {
		return SignedIn{}, err
	}
	p, stale, err := a.prove(ctx, attempt.standing(), attempt.account, normalPassword(password))
	if err != nil {
		a.refused(ctx, "login.refused")
		return SignedIn{}, err
	}
	in, err := a.enter(ctx, p, attempt)
	if err == nil && stale {
		err = a.rederive(ctx, p, normalPassword(password))
	}
	return in, err
}

// AdmitLogin counts a request to sign in by where it comes from, before its body is looked at. That of a browser which some
// account knows is counted by Login, once it is known whether it comes for that account.
func (a *Passwords) AdmitLogin(ctx context.Context, device string) error {
	return a.Admit(ctx, "login", perSource, func(tx *sqldb.Tx) (bool, error) {
		by, err := knower(tx, a.Now(), device)
		return by != "", err
	})
}

// Admit counts a request by where it comes from, before its body is looked at, unless something makes it exempt.
func (a *base) Admit(ctx context.Context, limit string, r throttle.Rate, exempt ...func(*sqldb.Tx) (bool, error)) error {
	wait, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (time.Duration, error) {
		for _, isFree := range exempt {
			if free, err := isFree(tx); err != nil || free {
				return 0, err
			}
		}
		return throttle.Take(tx, a.Now(), limit+"-ip:"+source(ctx), r)
	})
	if err == nil && wait > 0 {
		a.refused(ctx, limit+".limited")
		err = limited(limit, wait)
	}
	return err
}

// take counts an act of somebody who is known, and refuses one too many.
func (a *base) take(tx *sqldb.Tx, limit, key string, r throttle.Rate) error {
	wait, err := throttle.Take(tx, a.Now(), key, r)
	return cmp.Or(err, limited(limit, wait))
}

// attempt is somebody who tries to sign in, and has been counted.
type attempt struct {
	account Account // zero: nobody has the address
	key     string  // by which the attempt was counted
	device  string  // the browser's mark, if it is one of the account's
	wait    time.Duration
}

// standing is known for a browser that the account knows.
func (t attempt) standing() standing {
	if t.device != "" {
		return known
	}
	return stranger
}

// attempt counts a try before it is known whether it will do, so that many at once cannot slip through.
func (a *Passwords) attempt(ctx context.Context, email, device string) (attempt, error) {
	t, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (t attempt, err error) {
		t.key = "login:" + a.emailKey(email)
		if t.account, _, err = byEmail(tx, email); err != nil {
			return t, err
		}
		by, err := knower(tx, a.Now(), device)
		if err != nil {
			return t, err
		}
		if by != "" && by == t.account.ID {
			t.device = secret.Fingerprint(device)
			t.key = "device:" + t.device
		}
		if t.wait, err = a.countDevice(ctx, tx, t, by != ""); err != nil || t.wait > 0 {
			return t, err
		}
		t.wait, err = throttle.Attempt(tx, a.Now(), t.key)
		return t, err
	})
	if t.wait > 0 {
		a.refused(ctx, "login.limited")
	}
	return t, cmp.Or(err, limited("login", t.wait))
}

// countDevice counts a try that AdmitLogin left to be counted. A browser that comes for the account which knows it does not
// pay for others of its address, as long as the browsers of that account together stay within what one address may; any
// other does. Some is whether any account knows the browser.
func (a *Passwords) countDevice(ctx context.Context, tx *sqldb.Tx, t attempt, some bool) (wait time.Duration, err error) {
	if t.device != "" {
		if wait, err = throttle.Take(tx, a.Now(), "login-known:"+t.account.ID, perSource); err != nil || wait == 0 {
			return 0, err
		}
	}
	if !some {
		return 0, nil
	}
	return throttle.Take(tx, a.Now(), "login-ip:"+source(ctx), perSource)
}

// succeed takes the attempt back. A browser that the account knows is forgiven all: only its person uses it.
func (t attempt) succeed(tx *sqldb.Tx) error {
	if t.device != "" {
		return throttle.Reset(tx, t.key)
	}
	return throttle.Succeed(tx, t.key)
}

// prove derives the password once, whoever it is for. A suspended person hears of it only with the right password.
func (a *Passwords) prove(ctx context.Context, as standing, p Account, password string) (_ Account, stale bool, err error) {
	stored := p.password
	if p.deletedAt != 0 {
		stored = ""
	}
	right, stale, err := a.hasher.verify(ctx, as, stored, password)
	switch {
	case err != nil:
		return p, false, err
	case !right:
		return p, false, invalidCredentials()
	case p.Suspended:
		return p, false, suspended()
	}
	return p, stale, nil
}

// enter opens the session of somebody whose password was right, unless it was changed meanwhile.
func (a *Passwords) enter(ctx context.Context, proven Account, t attempt) (SignedIn, error) {
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (in SignedIn, err error) {
		p, found, err := locked(tx, proven.ID)
		if err != nil {
			return in, err
		}
		if !found || !p.Alive() || p.password != proven.password {
			return in, invalidCredentials()
		}
		if err := t.succeed(tx); err != nil {
			return in, err
		}
		if in, err = a.sessions.start(ctx, tx, p, byPassword, ""); err != nil {
			return in, err
		}
		if t.device == "" {
			if in.Device, err = markDevice(tx, a.Now(), p.ID); err != nil {
				return in, err
			}
		}
		return in, a.tell(ctx, tx, p, "login.password")
	})
}

// rederive stores a password at the present cost. A change that came first wins.
func (a *Passwords) rederive(ctx context.Context, p Account, password string) error {
	derived, err := a.hasher.hash(ctx, known, password)
	if err != nil {
		return nil // the person is signed in; the next time will do
	}
	return a.DB.Do(ctx, "store password anew", "UPDATE accounts SET password = $3 WHERE id = $1 AND password = $2", p.ID, p.password, derived)
}

// Reauth proves again who is signed in, and gives the session a new value.
func (a *Passwords) Reauth(ctx context.Context, who Who, password string) (SignedIn, error) {
	if err := a.confirm(ctx, who, password); err != nil {
		return SignedIn{}, err
	}
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (SignedIn, error) {
		in, err := a.sessions.renew(tx, who, byPassword)
		return in, cmp.Or(err, a.tell(ctx, tx, who.Account, "session.confirmed"))
	})
}

// confirm checks the password of somebody signed in, under the limits of signing in: the right one can be shown too often too.
func (a *Passwords) confirm(ctx context.Context, who Who, password string) error {
	key := "reauth:" + who.Account.ID
	wait, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (time.Duration, error) {
		if wait, err := throttle.Take(tx, a.Now(), "confirm:"+who.Account.ID, perSource); err != nil || wait > 0 {
			return wait, err
		}
		return throttle.Attempt(tx, a.Now(), key)
	})
	if err := cmp.Or(err, limited("login", wait)); err != nil {
		return err
	}
	right, _, err := a.hasher.verify(ctx, known, who.Account.password, normalPassword(password))
	if err != nil {
		return err
	}
	if !right {
		a.refused(ctx, "reauth.refused")
		return wrongPassword()
	}
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error { return throttle.Succeed(tx, key) })
}

// knower is the account that knows a browser; empty: none does.
func knower(tx *sqldb.Tx, now time.Time, device string) (string, error) {
	if device == "" {
		return "", nil
	}
	account, _, err := sqldb.First(tx, "find device", sqldb.Column[string], "SELECT account FROM devices WHERE token = $1 AND created_at > $2",
		secret.Fingerprint(device), now.Add(-deviceLife).UnixMilli())
	return account, err
}

// maxDevices is how many browsers an account knows; the oldest gives way. Whoever keeps no cookies is a new one each time.
const maxDevices = 100

func markDevice(tx *sqldb.Tx, now time.Time, account string) (string, error) {
	value := secret.Random()
	return value, cmp.Or(
		tx.Do("mark device", "INSERT INTO devices (token, account, created_at) VALUES ($1, $2, $3)", secret.Fingerprint(value), account, now.UnixMilli()),
		tx.Do("forget devices", `DELETE FROM devices WHERE token IN (SELECT token FROM devices WHERE account = $1 ORDER BY created_at DESC LIMIT 1000 OFFSET $2)
			AND token <> $3`, account, maxDevices, secret.Fingerprint(value)),
	)
}

// emailKey names an address in a limit without telling it.
func (a *base) emailKey(email string) string {
	mac := hmac.New(sha256.New, a.emails)
	mac.Write([]byte(email))
	return hex.EncodeToString(mac.Sum(nil))
}

// source is where a request comes from, as limits count it.
func source(ctx context.Context) string { return throttle.Network(audit.From(ctx).IP) }

// site is where a request comes from, as those do who wait for their turn.
func site(ctx context.Context) string { return throttle.Site(audit.From(ctx).IP) }

// refused counts a refusal; many of them make one line of the audit log.
func (a *base) refused(ctx context.Context, action string) {
	a.Audit.Refused(ctx, audit.Event{Action: action, Outcome: "deny"})
}
