package account

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
)

var (
	forgotPerEmail  = throttle.Rate{Limit: 3, Per: time.Hour}
	forgotPerSource = throttle.Rate{Limit: 20, Per: time.Hour}
	// A change voids the links by which a password is set anew, and so does a deletion: who knows the password must not do
	// so for ever.
	changesPerAccount   = throttle.Rate{Limit: 10, Per: day}
	deletionsPerAccount = throttle.Rate{Limit: 5, Per: day}
)

// AdmitForgot counts a request for a link by where it comes from, before its body is looked at.
func (a *Passwords) AdmitForgot(ctx context.Context) error {
	return a.Admit(ctx, "forgot", forgotPerSource)
}

// Forgot sends a link by which a password can be set anew, if somebody has the address; the answer never tells.
func (a *Passwords) Forgot(ctx context.Context, address string) error {
	email, err := mail.Normal(address)
	if err != nil {
		return strictjson.Wrong("email", err.Error())
	}
	var wait time.Duration
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) (err error) {
		if wait, err = throttle.Take(tx, a.Now(), "forgot:"+a.emailKey(email), forgotPerEmail); err != nil || wait > 0 {
			return err
		}
		p, found, err := byEmail(tx, email)
		if err != nil {
			return err
		}
		// For an address that nobody has, a token is made all the same: the work must not tell.
		value, err := issue(tx, a.Now(), token{purpose: forReset, account: p.ID, email: email, binding: p.passwordVersion, life: resetLife})
		if err != nil || !found || p.deletedAt != 0 || !a.CanMail() {
			return err
		}
		return out.send(tx, email, mail.ResetPassword(value, resetLife))
	})
	if err != nil {
		return err
	}
	return limited("forgot", wait)
}

// Reset sets a password by a link. It proves the address, ends everything that acted in the account's name, and signs
// nobody in. Identities that are named in unlink are no way into the account any more; the others stay. Device marks the
// browser as one that the account knows: whoever fails to sign in on purpose does not keep its person from doing so.
func (a *Passwords) Reset(ctx context.Context, value, password string, unlink ...string) (device string, err error) {
	password = normalPassword(password)
	if err := a.checkReset(ctx, value, password, unlink); err != nil {
		return "", err
	}
	derived, err := a.hasher.hash(ctx, known, password)
	if err != nil {
		return "", err
	}
	var given []grant
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		t, p, err := redeem(tx, a.Now(), value, forReset)
		if err != nil {
			return err
		}
		if !t.fits(p) {
			return invalidToken()
		}
		var events []audit.Event
		if given, events, err = a.identities.unlinkAll(tx, out, p, unlink); err != nil {
			return err
		}
		if err := a.resetPassword(ctx, tx, out, p, derived, events); err != nil {
			return err
		}
		device, err = markDevice(tx, a.Now(), p.ID)
		return err
	})
	if err != nil {
		return "", err
	}
	for _, g := range given {
		a.identities.giveBack(ctx, g)
	}
	return device, nil
}

// ResetIdentities lists the ways into the account of a reset link that providers vouch for, so that whoever resets can say
// which are not theirs. It does not use the link up.
func (a *Passwords) ResetIdentities(ctx context.Context, value string) ([]Identity, error) {
	return sqldb.Snapshot(ctx, a.DB, func(tx *sqldb.Tx) ([]Identity, error) {
		p, err := a.resetting(tx, value)
		if err != nil {
			return nil, err
		}
		return identitiesOf(tx, p.ID)
	})
}

// fits reports whether a token was made for the account as it is: same address, same password.
func (t token) fits(p Account) bool {
	return p.deletedAt == 0 && p.Email != "" && p.Email == t.email && p.passwordVersion == t.binding
}

// checkReset judges a reset before anything is derived, and does not use up the link. A bad link costs no derivation.
func (a *Passwords) checkReset(ctx context.Context, value, password string, unlink []string) error {
	return a.DB.Snapshot(ctx, func(tx *sqldb.Tx) error {
		p, err := a.resetting(tx, value)
		if err != nil {
			return err
		}
		linked, err := identitiesOf(tx, p.ID)
		if err != nil {
			return err
		}
		for _, id := range unlink {
			if !slices.ContainsFunc(linked, func(i Identity) bool { return i.ID == id }) {
				return strictjson.Wrong("unlink", strictjson.Invalid)
			}
		}
		return a.checkPassword("newPassword", password, p)
	})
}

// resetting is the account of a reset link that is good.
func (a *Passwords) resetting(tx *sqldb.Tx, value string) (p Account, err error) {
	t, err := peek(tx, a.Now(), value, forReset)
	if err != nil {
		return p, err
	}
	p, _, err = Find(tx, t.account)
	if err == nil && !t.fits(p) {
		err = invalidToken()
	}
	return p, err
}

// checkPassword judges a new password for an account.
func (a *Passwords) checkPassword(name, password string, p Account) error {
	local, _, _ := strings.Cut(p.Email, "@")
	if problem := weakness(password, p.Email, local, p.Username, a.Brand); problem != "" {
		return strictjson.Wrong(name, problem)
	}
	return nil
}

func (a *Passwords) resetPassword(ctx context.Context, tx *sqldb.Tx, out *letters, p Account, derived string, events []audit.Event) error {
	return cmp.Or(
		storePassword(tx, a.Now(), p.ID, derived),
		// Whoever got the mail holds the address; if nobody had proven that before, this is the first time.
		a.proveEmail(ctx, tx, p, nil),
		a.expel(tx, p.ID, "password reset", ""),
		void(tx, a.Now(), p.ID, forHold),
		throttle.Succeed(tx, "login:"+a.emailKey(p.Email)),
		out.send(tx, p.Email, mail.PasswordChanged()),
		a.Audit.Append(ctx, tx, append(events, p.event(anonymous, "password.reset", "password"))...),
	)
}

func storePassword(tx *sqldb.Tx, now time.Time, account, derived string) error {
	return tx.Do("store password", `UPDATE accounts SET password = $2, password_version = password_version + 1, version = version + 1, updated_at = $3
		WHERE id = $1`, account, derived, now.UnixMilli())
}

// Change replaces a password by somebody who knows it. Other sessions end, and this one gets a new value.
func (a *Passwords) Change(ctx context.Context, who Who, current, password string) (SignedIn, error) {
	password = normalPassword(password)
	if err := a.checkPassword("newPassword", password, who.Account); err != nil {
		return SignedIn{}, err
	}
	if err := a.confirm(ctx, who, current); err != nil {
		return SignedIn{}, err
	}
	return a.replacePassword(ctx, who, password, byPassword)
}

// Set gives a password to an account that has none. It needs a proven address, which is how a password is used.
func (a *Passwords) Set(ctx context.Context, who Who, password string) (SignedIn, error) {
	password = normalPassword(password)
	if err := a.sessions.NeedFresh(who); err != nil {
		return SignedIn{}, err
	}
	if who.Account.password != "" {
		return SignedIn{}, fault.Invalid("This account has a password: change it instead.")
	}
	if !who.Account.EmailVerified {
		return SignedIn{}, fault.New(EmailVerificationRequired, "Verify your e-mail address first.", "A password signs in together with a verified address.")
	}
	if err := a.checkPassword("newPassword", password, who.Account); err != nil {
		return SignedIn{}, err
	}
	return a.replacePassword(ctx, who, password, who.Session.Method)
}

func (a *Passwords) replacePassword(ctx context.Context, who Who, password, method string) (in SignedIn, err error) {
	derived, err := a.hasher.hash(ctx, known, password)
	if err != nil {
		return in, err
	}
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, found, err := locked(tx, who.Account.ID)
		if err != nil {
			return err
		}
		if !found || !p.Alive() || p.password != who.Account.password {
			return wrongPassword()
		}
		if err := a.take(tx, "password", "change-password:"+p.ID, changesPerAccount); err != nil {
			return err
		}
		if err := cmp.Or(
			storePassword(tx, a.Now(), p.ID, derived),
			end(tx, a.Now(), "password changed", "account = $3 AND id <> $4", p.ID, who.Session.ID),
			void(tx, a.Now(), p.ID, forReset, forEmailChange, forLink),
		); err != nil {
			return err
		}
		if in, err = a.sessions.renew(tx, who, method); err != nil {
			return err
		}
		if in.Account, _, err = locked(tx, p.ID); err != nil {
			return err
		}
		return cmp.Or(out.send(tx, p.Email, mail.PasswordChanged()), a.tell(ctx, tx, p, "password.changed", "password"))
	})
	if err != nil {
		return SignedIn{}, err
	}
	return in, nil
}
