package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// operator is whoever holds the machine, and anonymous whoever holds what was mailed.
var (
	operator  = audit.Actor{Kind: "operator"}
	anonymous = audit.Actor{Kind: audit.Anonymous}
)

// Staff are those with authority over the whole service, and what they do to people.
type Staff struct {
	*base
	sessions      *Sessions
	passwords     *Passwords
	registrations *Registrations
}

// CreateAdmin makes an administrator, on the word of the operator.
func (a *Staff) CreateAdmin(ctx context.Context, r Registration) (p Account, err error) {
	if r, err = a.registrations.check(r); err != nil {
		return p, err
	}
	derived, err := a.hasher.hash(ctx, known, r.Password)
	if err != nil {
		return p, err
	}
	p, err = sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (Account, error) {
		if err := lockStaff(tx); err != nil {
			return Account{}, err
		}
		made, _, err := a.createAdmin(ctx, tx, r, derived)
		return made, err
	})
	if errors.Is(err, errTaken) {
		err = fault.Invalid("An account has this e-mail address: grant it the role instead.")
	}
	return p, err
}

func (a *Staff) createAdmin(ctx context.Context, tx *sqldb.Tx, r Registration, derived string) (Account, workspace.Workspace, error) {
	p, w, err := create(tx, a.Now(), birth{
		username: r.Username, displayName: r.DisplayName, email: r.Email, verified: true, source: sourceSetup, password: derived, role: RoleAdmin,
	})
	if err != nil {
		return p, w, err
	}
	return p, w, cmp.Or(dropSetup(tx), a.Audit.Append(ctx, tx, p.event(operator, "admin.created", "serviceRole")))
}

// Named is the account of a username or of an e-mail address, for the operator. An address that nobody has proven names
// nobody: whoever signed up with it first may be anyone.
func (a *Staff) Named(ctx context.Context, username, email string) (p Account, err error) {
	var found bool
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		if username != "" {
			p, found, err = oneAccount(tx, "a.username = $1", mail.LowerASCII(username))
			return err
		}
		normal, err := mail.Normal(email)
		if err != nil {
			return strictjson.Wrong("email", err.Error())
		}
		p, found, err = byEmail(tx, normal)
		return err
	})
	switch {
	case err != nil:
		return Account{}, err
	case !found || p.deletedAt != 0:
		return Account{}, fault.New(fault.ItemNotFound, fmt.Sprintf("No account is called %s.", cmp.Or(username, email)), "")
	case username == "" && !p.EmailVerified:
		return Account{}, fault.Invalid("Nobody has proven that this e-mail address is theirs: name the account by its username or id.")
	}
	return p, nil
}

// Grant gives an account a role over the whole service, on the word of the operator.
func (a *Staff) Grant(ctx context.Context, id, role string) (Account, error) {
	if role != RoleNone && role != RoleSupport && role != RoleAdmin {
		return Account{}, strictjson.Wrong("role", strictjson.Invalid)
	}
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (Account, error) {
		if err := lockStaff(tx); err != nil {
			return Account{}, err
		}
		p, found, err := locked(tx, id)
		if err != nil {
			return p, err
		}
		if !found || p.deletedAt != 0 {
			return p, notFound()
		}
		err = a.setRole(ctx, tx, p, role, operator)
		p.Role = role
		return p, err
	})
}

func (a *Staff) setRole(ctx context.Context, tx *sqldb.Tx, p Account, role string, by audit.Actor) error {
	err := tx.Do("set role", "UPDATE accounts SET service_role = $2, version = version + 1, updated_at = $3 WHERE id = $1", p.ID, role, a.Now().UnixMilli())
	if role != p.Role {
		err = cmp.Or(err, lowerAll(tx, a.Now(), p.ID), a.Keys.OfStaff(tx, a.Now(), p.ID))
	}
	if role == RoleAdmin {
		err = cmp.Or(err, dropSetup(tx))
	}
	return cmp.Or(err, a.tellAll(ctx, tx, p, by, "admin.granted", "serviceRole"))
}

// suspend keeps a person out until they are restored; what they are signed in with ends.
func (a *Staff) suspend(ctx context.Context, tx *sqldb.Tx, p Account, reason string, by audit.Actor) error {
	return cmp.Or(
		tx.Do("suspend account", "UPDATE accounts SET suspended_at = COALESCE(suspended_at, $2), suspend_reason = $3, version = version + 1, updated_at = $2 WHERE id = $1",
			p.ID, a.Now().UnixMilli(), reason),
		end(tx, a.Now(), "account suspended", "account = $3", p.ID),
		a.tellAll(ctx, tx, p, by, "account.suspended"),
	)
}

// restore is what staff do: it ends a suspension as well as a deletion.
func (a *Staff) restore(ctx context.Context, tx *sqldb.Tx, p Account, by audit.Actor) error {
	return cmp.Or(
		bringBack(tx, a.Now(), p, "deleted_at = NULL, suspended_at = NULL, suspend_reason = ''"),
		a.tellAll(ctx, tx, p, by, "account.restored"),
	)
}

// NoteStaff tells a workspace's people, and the service, that staff did something there by the authority of the service.
// Nothing is to be done when it fails.
func (a *Staff) NoteStaff(ctx context.Context, e audit.Event) error {
	e.Service = true
	return a.Note(ctx, e)
}

// Note tells of something that another half of the service is about to do. Nothing is to be done when it fails.
func (a *Staff) Note(ctx context.Context, e audit.Event) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error { return a.Audit.Append(ctx, tx, e) })
}

// onceAMinute is how often the same reading of staff is told.
var onceAMinute = throttle.Rate{Limit: 1, Per: time.Minute}

// NoteReading is NoteStaff of something that was looked at: the same by the same person is told once a minute, by all nodes
// together.
func (a *Staff) NoteReading(ctx context.Context, e audit.Event) error {
	e.Service = true
	key := strings.Join([]string{"staff-read", e.Actor.ID, e.Action, e.Scope, e.Target.Kind, e.Target.ID}, "\x00")
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		wait, err := throttle.Take(tx, a.Now(), key, onceAMinute)
		if err != nil || wait > 0 {
			return err
		}
		return a.Audit.Append(ctx, tx, e)
	})
}
