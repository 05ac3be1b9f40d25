package account

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
)

// Bounds of what staff write, in code points.
const (
	minReason = 10 // of an impersonation
	maxReason = 500
)

// Person is somebody as the staff see them.
type Person struct {
	Account
	Reason     string    // why they are suspended
	EraseAt    time.Time // zero: the account is not deleted
	LastSeenAt time.Time // zero: never
	Sessions   int64     // that are alive
	UpdatedAt  time.Time
}

// PeopleQuery asks for some people, newest first. Q is a part of a username, a display name or an address.
type PeopleQuery struct {
	listing.Query
	Staff bool // only those with a role over the service, whose account is not deleted
	// Status is how they stand: active, unverified, suspended or deleted. Role is theirs over the service. Both default to any.
	Status, Role string
}

// statuses are how somebody can stand, as conditions on accounts a.
var statuses = map[string]string{
	"":           "TRUE",
	"active":     "a.suspended_at IS NULL AND a.deleted_at IS NULL AND (a.email IS NULL OR a.email_verified = 1)",
	"unverified": "a.suspended_at IS NULL AND a.deleted_at IS NULL AND a.email IS NOT NULL AND a.email_verified = 0",
	"suspended":  "a.suspended_at IS NOT NULL AND a.deleted_at IS NULL",
	"deleted":    "a.deleted_at IS NOT NULL",
}

// which is the condition on accounts a, whose argument is $7.
func (q PeopleQuery) which() (string, error) {
	status, known := statuses[q.Status]
	if !known {
		return "", strictjson.Wrong("status", strictjson.Invalid)
	}
	if q.Role != "" && q.Role != RoleNone && q.Role != RoleSupport && q.Role != RoleAdmin {
		return "", strictjson.Wrong("role", strictjson.Invalid)
	}
	if q.Staff {
		status += " AND a.service_role <> 'none' AND a.deleted_at IS NULL"
	}
	return status + " AND ($7 = '' OR a.service_role = $7)", nil
}

const personColumns = Columns + `, a.suspend_reason, a.updated_at,
	(SELECT MAX(s.last_seen_at) FROM sessions s WHERE s.account = a.id),
	(SELECT count(*) FROM sessions s WHERE s.account = a.id AND s.revoked_at IS NULL AND s.last_seen_at > $1 AND s.created_at > $2)`

// aliveSince are the arguments of personColumns.
func (a *Staff) aliveSince() []any {
	now := a.Now()
	return []any{now.Add(-a.Idle).UnixMilli(), now.Add(-a.Absolute).UnixMilli()}
}

func (a *Staff) scanPerson(row sqldb.Row) (p Person, err error) {
	p.Account, err = Scan(row, &p.Reason, sqldb.Time(&p.UpdatedAt), sqldb.Time(&p.LastSeenAt), &p.Sessions)
	if p.deletedAt != 0 {
		p.EraseAt = time.UnixMilli(p.deletedAt).Add(a.Hold)
	}
	return p, err
}

// People lists everybody whose account is not erased.
func (a *Staff) People(ctx context.Context, q PeopleQuery) (page listing.Page[Person], err error) {
	if err := q.Check(); err != nil {
		return page, err
	}
	at, id, err := q.Older()
	if err != nil {
		return page, err
	}
	which, err := q.which()
	if err != nil {
		return page, err
	}
	all, err := sqldb.ReadAll(ctx, a.DB, a.scanPerson, `SELECT `+personColumns+` FROM accounts a WHERE a.username <> a.id AND (a.created_at, a.id) < ($3, $4)
		AND (a.username LIKE $5 ESCAPE '\' OR LOWER(a.display_name) LIKE $5 ESCAPE '\' OR a.email LIKE $5 ESCAPE '\') AND `+which+`
		ORDER BY a.created_at DESC, a.id DESC LIMIT $6`, append(a.aliveSince(), at, id, sqldb.Contains(strings.ToLower(q.Q)), q.Size()+1, q.Role)...)
	if err != nil {
		return page, fmt.Errorf("list people: %w", err)
	}
	return listing.Cut(all, q.Size(), func(p Person) []any { return listing.Age(p.CreatedAt, p.ID) }), nil
}

// Person is the person of that id.
func (a *Staff) Person(ctx context.Context, id string) (Person, error) {
	all, err := sqldb.ReadAll(ctx, a.DB, a.scanPerson, "SELECT "+personColumns+" FROM accounts a WHERE a.id = $3 AND a.username <> a.id", append(a.aliveSince(), id)...)
	if err != nil {
		return Person{}, fmt.Errorf("find person: %w", err)
	}
	if len(all) == 0 {
		return Person{}, notFound()
	}
	return all[0], nil
}

// onPerson runs a verb of an administrator on somebody, and gives the person as it leaves them. Those who change who may
// come in wait for each other, and each must be an administrator when it is their turn.
func (a *Staff) onPerson(ctx context.Context, by Who, id string, verb func(tx *sqldb.Tx, p Account, out *letters) error) (p Person, err error) {
	if err := a.sessions.NeedFresh(by); err != nil {
		return p, err
	}
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		if err := cmp.Or(lockStaff(tx), stillAdministers(tx, by)); err != nil {
			return err
		}
		target, found, err := locked(tx, id)
		if err != nil {
			return err
		}
		if !found || target.Username == target.ID {
			return notFound()
		}
		return verb(tx, target, out)
	})
	if err != nil {
		return p, err
	}
	return a.Person(ctx, id)
}

// stillAdministers reads the role and the session of whoever acts in the transaction of the act.
func stillAdministers(tx *sqldb.Tx, by Who) error {
	p, err := stillStaff(tx, by)
	if err == nil && p.Role != RoleAdmin {
		err = fault.New(fault.Forbidden, "Your role does not allow this.", "Support reads everything and changes nothing.").With("role", RoleAdmin)
	}
	if err != nil {
		return err
	}
	return stillSignedIn(tx, by)
}

// stillStaff is the account of whoever acts, if it still is one of the staff.
func stillStaff(tx *sqldb.Tx, by Who) (Account, error) {
	p, _, err := Find(tx, by.Account.ID)
	switch {
	case err != nil:
		return p, err
	case !p.Alive():
		return p, unauthenticated()
	case !p.IsStaff():
		return p, staffOnly()
	}
	return p, nil
}

// notOneself keeps an administrator from locking themselves out, so that there is always one left.
func notOneself(by Who, p Account) error {
	if by.Account.ID != p.ID {
		return nil
	}
	return fault.New(fault.Forbidden, "Nobody may do this to themselves.", "Another administrator can.")
}

// SuspendPerson keeps somebody out until they are restored.
func (a *Staff) SuspendPerson(ctx context.Context, by Who, id, reason string) (Person, error) {
	if problem := strictjson.CheckText(reason, 1, maxReason); problem != "" {
		return Person{}, strictjson.Wrong("reason", problem)
	}
	return a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) error {
		if err := notOneself(by, p); err != nil {
			return err
		}
		return a.suspend(ctx, tx, p, strings.TrimSpace(reason), by.Account.Actor())
	})
}

// RestorePerson ends a suspension, and undoes a deletion within its hold.
func (a *Staff) RestorePerson(ctx context.Context, by Who, id string) (Person, error) {
	return a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) error {
		if a.isOver(p) {
			return notFound()
		}
		return a.restore(ctx, tx, p, by.Account.Actor())
	})
}

// SignOutPerson ends all sessions of somebody, and says how many there were.
func (a *Staff) SignOutPerson(ctx context.Context, by Who, id string) (ended int64, err error) {
	_, err = a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) (err error) {
		since := append([]any{p.ID}, a.aliveSince()...)
		ended, err = endSome(tx, a.Now(), "ended by staff", "account = $3 AND last_seen_at > $4 AND created_at > $5", since...)
		return cmp.Or(err, a.tellAll(ctx, tx, p, by.Account.Actor(), "sessions.revoked"))
	})
	if err != nil {
		return 0, err
	}
	return ended, nil
}

// GrantPerson gives somebody a role over the whole service.
func (a *Staff) GrantPerson(ctx context.Context, by Who, id, role string) (Person, error) {
	if role != RoleNone && role != RoleSupport && role != RoleAdmin {
		return Person{}, strictjson.Wrong("role", strictjson.Invalid)
	}
	return a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, _ *letters) error {
		if p.deletedAt != 0 {
			return notFound()
		}
		if err := notOneself(by, p); err != nil {
			return err
		}
		return a.setRole(ctx, tx, p, role, by.Account.Actor())
	})
}

// SendReset mails somebody a link by which they choose a new password: staff never know one.
func (a *Staff) SendReset(ctx context.Context, by Who, id string) error {
	if !a.CanMail() {
		return mailNotConfigured()
	}
	var wait time.Duration
	_, err := a.onPerson(ctx, by, id, func(tx *sqldb.Tx, p Account, out *letters) (err error) {
		if p.deletedAt != 0 {
			return notFound()
		}
		if p.Email == "" {
			return fault.Invalid("This account has no e-mail address.")
		}
		if wait, err = throttle.Take(tx, a.Now(), "forgot:"+a.emailKey(p.Email), forgotPerEmail); err != nil || wait > 0 {
			return err
		}
		value, err := issue(tx, a.Now(), token{purpose: forReset, account: p.ID, email: p.Email, binding: p.passwordVersion, life: resetLife})
		return cmp.Or(err,
			out.send(tx, p.Email, mail.ResetPassword(value, resetLife)),
			a.tellAll(ctx, tx, p, by.Account.Actor(), "password.reset_sent"),
		)
	})
	if err != nil {
		return err
	}
	return limited("forgot", wait)
}
