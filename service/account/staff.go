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
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// operator is whoever holds the machine.
var operator = audit.Actor{Kind: "operator"}

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
	err = a.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
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

func (a *Staff) createAdmin(ctx context.Context, tx *sqldb.Tx, r Registration, derived string) (Account, workspace.Workspace, error) {
	p, w, err := create(tx, a.Now(), birth{
		username: r.Username, displayName: r.DisplayName, email: r.Email, verified: true, source: sourceSetup, password: derived, role: RoleAdmin,
	})
	if err != nil {
		return p, w, err
	}
	if err := tx.Do("drop set-up link", "DELETE FROM tokens WHERE purpose = $1", forSetup); err != nil {
		return p, w, err
	}
	return p, w, a.Audit.Append(ctx, tx, audit.Event{Actor: operator, Action: "admin.created", Target: p.target(), Scope: p.scope(), Changes: []string{"serviceRole"}})
}

// Named is the account of a username or of an e-mail address, for the operator. An address that nobody has proven names
// nobody: whoever signed up with it first may be anyone.
func (a *Staff) Named(ctx context.Context, username, email string) (p Account, err error) {
	var found bool
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		if username != "" {
			p, found, err = oneAccount(tx, "a.username = $1", lowerASCII(username))
			return err
		}
		normal, err := NormalEmail(email)
		if err != nil {
			return strictjson.Refuse(strictjson.Field{Field: "email", Type: err.Error()})
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
func (a *Staff) Grant(ctx context.Context, id, role string) (p Account, err error) {
	if role != RoleNone && role != RoleSupport && role != RoleAdmin {
		return p, strictjson.Refuse(strictjson.Field{Field: "role", Type: strictjson.Invalid})
	}
	err = a.DB.Write(ctx, func(tx *sqldb.Tx) error {
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

func (a *Staff) setRole(ctx context.Context, tx *sqldb.Tx, p Account, role string, by audit.Actor) error {
	if err := tx.Do("set role", "UPDATE accounts SET service_role = $2, version = version + 1, updated_at = $3 WHERE id = $1", p.ID, role, a.Now().UnixMilli()); err != nil {
		return err
	}
	if role != p.Role {
		if err := errors.Join(lowerAll(tx, a.Now(), p.ID), a.Keys.OfStaff(tx, a.Now(), p.ID)); err != nil {
			return err
		}
	}
	if role == RoleAdmin {
		if err := tx.Do("drop set-up link", "DELETE FROM tokens WHERE purpose = $1", forSetup); err != nil {
			return err
		}
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "admin.granted", Target: p.target(), Scope: p.scope(), Changes: []string{"serviceRole"}, Service: true})
}

// suspend keeps a person out until they are restored; what they are signed in with ends.
func (a *Staff) suspend(ctx context.Context, tx *sqldb.Tx, p Account, reason string, by audit.Actor) error {
	if err := tx.Do("suspend account", "UPDATE accounts SET suspended_at = COALESCE(suspended_at, $2), suspend_reason = $3, version = version + 1, updated_at = $2 WHERE id = $1",
		p.ID, a.Now().UnixMilli(), reason); err != nil {
		return err
	}
	if _, err := end(tx, a.Now(), "account suspended", "account = $3", p.ID); err != nil {
		return err
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "account.suspended", Target: p.target(), Scope: p.scope(), Service: true})
}

// restore is what staff do: it ends a suspension as well as a deletion.
func (a *Staff) restore(ctx context.Context, tx *sqldb.Tx, p Account, by audit.Actor) error {
	if err := bringBack(tx, a.Now(), p, "deleted_at = NULL, suspended_at = NULL, suspend_reason = ''"); err != nil {
		return err
	}
	return a.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "account.restored", Target: p.target(), Scope: p.scope(), Service: true})
}

// WorkspaceAt is the workspace of a scope as staff find it, suspended or not; found is false for one that is deleted or not
// there.

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
