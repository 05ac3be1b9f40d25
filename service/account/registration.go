package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// Limits of signing up.
var (
	signUpsPerSource = throttle.Rate{Limit: 5, Per: time.Hour}
	mailsPerEmail    = throttle.Rate{Limit: 3, Per: time.Hour}
)

// Registrations are how people get an account.
type Registrations struct {
	*base
	sessions  *Sessions
	passwords *Passwords
}

// Registration is what somebody signs up with.
type Registration struct {
	Email       string
	Password    string
	Username    string // empty: made from the address
	DisplayName string
}

// Registered is what came of it.
type Registered struct {
	SignedIn
	Workspace workspace.Workspace
	Created   bool // false: the account was there, and the password was right
	Pending   bool // nothing exists yet: a mail was sent, if there was anything to send
}

// check normalises a registration and says all that is wrong with it.
func (a *Registrations) check(r Registration) (Registration, error) {
	var wrong strictjson.Fields
	email, err := mail.Normal(r.Email)
	if err != nil {
		wrong.Add("email", err.Error())
	}
	r.Email, r.Password = email, normalPassword(r.Password)
	local, _, _ := strings.Cut(email, "@")
	wrong.Add("password", weakness(r.Password, email, local, r.Username, a.Brand))
	wrong.Add("username", checkUsername(r.Username))
	wrong.Add("displayName", checkDisplayName(r.DisplayName))
	return r, wrong.Refusal()
}

// checkUsername says what is wrong with the spelling. Whether the name can be had is another question.
func checkUsername(name string) string {
	if name == "" {
		return ""
	}
	switch err := scope.CheckUsername(name); {
	case errors.Is(err, scope.ErrInvalid):
		return strictjson.Invalid
	case errors.Is(err, scope.ErrTooShort):
		return strictjson.TooShort
	case errors.Is(err, scope.ErrTooLong):
		return strictjson.TooLong
	}
	return ""
}

// Admit counts a request to sign up by where it comes from, before its body is looked at.
func (a *Registrations) Admit(ctx context.Context) error {
	return a.base.Admit(ctx, "register", signUpsPerSource)
}

// Register makes an account and its workspace after AdmitRegister, or resumes one whose password is right. Where sign-up is
// strict it makes nothing before the address is proven, and without the account's password tells nothing of the address.
func (a *Registrations) Register(ctx context.Context, r Registration) (Registered, error) {
	r, err := a.check(r)
	if err != nil {
		return Registered{}, err
	}
	if a.Strict {
		return a.registerByMail(ctx, r)
	}
	held, err := a.holder(ctx, r.Email)
	if err != nil {
		return Registered{}, err
	}
	if held.ID != "" {
		return a.resume(ctx, held, r.Password)
	}
	derived, err := a.hasher.hash(ctx, stranger, r.Password)
	if err != nil {
		return Registered{}, err
	}
	made, err := a.register(ctx, r, derived)
	if !errors.Is(err, errTaken) {
		return made, err
	}
	// It is the slower of two who sign up with one address at the same time.
	if held, err = a.holder(ctx, r.Email); err != nil {
		return Registered{}, err
	}
	return a.resume(ctx, held, r.Password)
}

// holder is who has an address already; nobody is a zero account.
func (a *Registrations) holder(ctx context.Context, email string) (Account, error) {
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (Account, error) {
		held, _, err := byEmail(tx, email)
		return held, err
	})
}

// register makes the account, its workspace and its first session in one transaction.
func (a *Registrations) register(ctx context.Context, r Registration, derived string) (Registered, error) {
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (made Registered, err error) {
		p, w, err := create(tx, a.Now(), birth{
			username: r.Username, displayName: r.DisplayName, email: r.Email, source: sourcePassword, password: derived,
		})
		if err != nil {
			return made, err
		}
		made.Created, made.Workspace = true, w
		made.SignedIn, err = a.firstSession(ctx, tx, p)
		return made, cmp.Or(err, a.tell(ctx, tx, p, "account.created"))
	})
}

func (a *Registrations) firstSession(ctx context.Context, tx *sqldb.Tx, p Account) (in SignedIn, err error) {
	if in, err = a.sessions.start(ctx, tx, p, byPassword, ""); err != nil {
		return in, err
	}
	in.Device, err = markDevice(tx, a.Now(), p.ID)
	return in, err
}

// resume signs in to an account that is there, by the limits of signing in, and completes what is half made.
func (a *Registrations) resume(ctx context.Context, held Account, password string) (Registered, error) {
	t, err := a.passwords.attempt(ctx, held.Email, "")
	if err != nil {
		return Registered{}, err
	}
	p, _, err := a.passwords.prove(ctx, stranger, held, password)
	if err != nil {
		a.refused(ctx, "register.refused")
		return Registered{}, err
	}
	return a.goOnAs(ctx, p, t)
}

// goOnAs opens a session for somebody who signs up with the password of an account that is there, and completes what is half
// made of it.
func (a *Registrations) goOnAs(ctx context.Context, p Account, t attempt) (Registered, error) {
	in, err := a.passwords.enter(ctx, p, t)
	if err != nil {
		return Registered{}, err
	}
	w, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (workspace.Workspace, error) {
		return workspace.MakePersonal(tx, a.Now(), p.ID, p.Username)
	})
	return Registered{SignedIn: in, Workspace: w}, err
}

// pending is a sign-up that waits for its mail to be answered.
type pending struct {
	Password    string `json:"password"` // derived
	Username    string `json:"username"`
	DisplayName string `json:"displayName"`
}

// registerByMail is counted as a sign-in is, derives the password once, whoever holds the address, and sends a mail. The
// password of the account resumes it instead: to be let in by both tells nothing new.
func (a *Registrations) registerByMail(ctx context.Context, r Registration) (Registered, error) {
	t, err := a.passwords.attempt(ctx, r.Email, "")
	if err != nil {
		return Registered{}, err
	}
	if t.account.ID == "" {
		derived, err := a.hasher.hash(ctx, stranger, r.Password)
		if err != nil {
			return Registered{}, err
		}
		return a.sendSignUp(ctx, r, t.account, derived)
	}
	p, _, err := a.passwords.prove(ctx, stranger, t.account, r.Password)
	if err == nil {
		return a.goOnAs(ctx, p, t)
	}
	a.refused(ctx, "register.refused")
	if !fault.Is(err, InvalidCredentials) {
		return Registered{}, err
	}
	return a.sendSignUp(ctx, r, t.account, "")
}

// sendSignUp mails whoever has the address: a way to complete the sign-up or, to the holder of an account, that there is one.
func (a *Registrations) sendSignUp(ctx context.Context, r Registration, held Account, derived string) (Registered, error) {
	data, err := json.Marshal(pending{derived, r.Username, r.DisplayName})
	if err != nil {
		return Registered{}, fmt.Errorf("keep registration: %w", err)
	}
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		if err := checkFree(tx, r.Username); err != nil {
			return err
		}
		wait, err := throttle.Take(tx, a.Now(), "register-mail:"+a.emailKey(r.Email), mailsPerEmail)
		if err != nil || wait > 0 {
			return err // the answer is the same: it must not tell how often an address was tried
		}
		if held.ID != "" {
			return out.haveAccount(tx, held)
		}
		value, err := issue(tx, a.Now(), token{purpose: forSignUp, email: r.Email, data: string(data), life: verifyLife})
		return cmp.Or(err, out.send(tx, r.Email, mail.SignUp(value, verifyLife)))
	})
	return Registered{Pending: true}, err
}

// checkFree refuses a username that cannot be had, before a mail is sent for it.
func checkFree(tx *sqldb.Tx, username string) error {
	if username == "" {
		return nil
	}
	if scope.CheckUsername(username) != nil {
		return usernameTaken()
	}
	n, err := sqldb.Value[int](tx, "find username", "SELECT count(*) FROM usernames WHERE name = $1", username)
	if err == nil && n > 0 {
		err = usernameTaken()
	}
	return err
}

// completeSignUp makes the account of a registration whose mail was answered. The wanted username may be gone by now;
// the address proves the person, so another is made.
func (a *Registrations) completeSignUp(ctx context.Context, tx *sqldb.Tx, t token) error {
	var r pending
	if err := json.Unmarshal([]byte(t.data), &r); err != nil {
		return fmt.Errorf("read registration: %w", err)
	}
	if _, held, err := byEmail(tx, t.email); err != nil || held {
		return cmp.Or(err, invalidToken())
	}
	b := birth{username: r.Username, displayName: r.DisplayName, email: t.email, verified: true, source: sourcePassword, password: r.Password}
	if checkFree(tx, r.Username) != nil {
		b.username, b.hint = "", r.Username
	}
	p, _, err := create(tx, a.Now(), b)
	if errors.Is(err, errTaken) {
		return invalidToken()
	}
	if err != nil {
		return err
	}
	return cmp.Or(
		tx.Do("void other registrations", "UPDATE tokens SET used_at = $3 WHERE email = $1 AND purpose = $2 AND used_at IS NULL", t.email, forSignUp, a.Now().UnixMilli()),
		// The sign-up was counted as a sign-in that failed.
		throttle.Succeed(tx, "login:"+a.emailKey(t.email)),
		a.tell(ctx, tx, p, "account.created"),
	)
}
