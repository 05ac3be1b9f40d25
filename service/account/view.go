package account

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
)

// ImpersonationForbidden is the type of the refusal of what nobody may do in a customer's name.
const ImpersonationForbidden = "impersonation_forbidden"

const (
	viewLife       = time.Hour
	viewTicketLife = time.Minute
)

// viewPrefix lets scanners recognise a view's value that leaked.
const viewPrefix = "svcv_"

// Views are how staff see what a customer sees.
type Views struct{ *base }

// Impersonation is a look at the service as a customer has it.
type Impersonation struct {
	ID        string
	Subject   Account
	Ticket    string // shown once: it leads the browser of the session that asked to the customer's surface
	ExpiresAt time.Time
}

// Impersonate lets staff see what a customer sees, for a reason that the customer will read. Nobody looks as other staff.
func (a *Views) Impersonate(ctx context.Context, by Who, subject, reason string) (Impersonation, error) {
	if problem := strictjson.CheckText(reason, minReason, maxReason); problem != "" {
		return Impersonation{}, strictjson.Wrong("reason", problem)
	}
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (i Impersonation, err error) {
		p, err := a.viewable(tx, by, subject)
		if err != nil {
			return i, err
		}
		now := a.Now()
		i = Impersonation{ID: "imp_" + ulid.Make().String(), Subject: p, Ticket: secret.Random(), ExpiresAt: now.Add(viewLife)}
		return i, cmp.Or(
			tx.Do("make impersonation", `INSERT INTO impersonations (id, staff, session, subject, reason, ticket, ticket_until, created_at, expires_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
				i.ID, by.Account.ID, by.Session.ID, p.ID, strings.TrimSpace(reason), secret.Fingerprint(i.Ticket), now.Add(viewTicketLife).UnixMilli(),
				now.UnixMilli(), i.ExpiresAt.UnixMilli()),
			a.Audit.Append(ctx, tx, viewEvent("impersonation.created", by.Account, p, i.ID)),
		)
	})
}

// viewable is the customer of that id, if whoever asks is still staff.
func (a *Views) viewable(tx *sqldb.Tx, by Who, subject string) (Account, error) {
	_, err := stillStaff(tx, by)
	if err := cmp.Or(err, stillSignedIn(tx, by)); err != nil {
		return Account{}, err
	}
	p, found, err := locked(tx, subject)
	switch {
	case err != nil:
		return p, err
	case !found || p.deletedAt != 0:
		return p, notFound()
	case p.IsStaff():
		return p, fault.New(ImpersonationForbidden, "Nobody looks at the service as other staff.", "")
	case p.Suspended:
		return p, suspended()
	}
	return p, nil
}

// viewEvent is an act of staff in a customer's name, which both the customer and the service see.
func viewEvent(action string, staff, subject Account, id string) audit.Event {
	actor := subject.Actor()
	return audit.Event{
		Actor: staff.Actor(), Subject: &actor, Action: action, Target: audit.Target{Kind: "impersonation", ID: id}, Scope: subject.scope(), Service: true,
	}
}

// Open uses a ticket in the browser of the session that asked for it, once, and gives the value by which the browser is
// known from then on. The customer is told by mail.
func (a *Views) Open(ctx context.Context, who Who, ticket string) (value string, life time.Duration, err error) {
	err = a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		value = viewPrefix + secret.Random()
		now := a.Now()
		var id, subject, reason string
		scan := func(row sqldb.Row) (expires int64, err error) {
			err = row.Scan(&id, &subject, &reason, &expires)
			return expires, err
		}
		expires, found, err := sqldb.First(tx, "use ticket", scan, `UPDATE impersonations SET view = $4, opened_at = $3 WHERE ticket = $1 AND session = $2 AND ticket_until > $3
			AND expires_at > $3 AND opened_at IS NULL AND ended_at IS NULL RETURNING id, subject, reason, expires_at`,
			secret.Fingerprint(ticket), who.Session.ID, now.UnixMilli(), secret.Fingerprint(value))
		if err != nil {
			return err
		}
		if !found {
			return invalidToken()
		}
		life = time.UnixMilli(expires).Sub(now)
		p, err := a.viewable(tx, who, subject)
		if err != nil {
			return err
		}
		return cmp.Or(
			out.send(tx, p.Email, mail.Viewed(who.Account.Username, reason)),
			a.Audit.Append(ctx, tx, viewEvent("impersonation.opened", who.Account, p, id)),
		)
	})
	if err != nil {
		return "", 0, err
	}
	return value, life, nil
}

// View is a customer as whom somebody of the staff looks at the service.
type View struct {
	ID        string
	Staff     Who
	Subject   Account
	OpenedAt  time.Time
	ExpiresAt time.Time
}

// Who is the customer. The session is that of the staff, with the times of the view.
func (v View) Who() Who {
	s := v.Staff.Session
	s.CreatedAt, s.ExpiresAt = v.OpenedAt, v.ExpiresAt
	return Who{Session: s, Account: v.Subject}
}

// Reading is that the staff read something in the customer's name, as the customer's own log tells it.
func (v View) Reading(of audit.Target) audit.Event {
	e := viewEvent("impersonation.read", v.Staff.Account, v.Subject, v.ID)
	e.Target = of
	return e
}

// Find is what a value opens beside the session that began it; found is false for every value that opens nothing.
func (a *Views) Find(ctx context.Context, who Who, value string) (v View, found bool, err error) {
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		v, found, err = a.Of(tx, who, value)
		return err
	})
	if err != nil {
		return View{}, false, err
	}
	return v, found, nil
}

// Of is Find in a transaction.
func (a *Views) Of(tx *sqldb.Tx, who Who, value string) (v View, found bool, err error) {
	if !who.Account.IsStaff() || !plausible(viewPrefix, value) {
		return v, false, nil
	}
	v, found, err = sqldb.First(tx, "find impersonation", scanView, `SELECT `+Columns+`, i.id, i.opened_at, i.expires_at FROM impersonations i JOIN accounts a ON a.id = i.subject
		WHERE i.view = $1 AND i.session = $2 AND i.staff = $3 AND i.ended_at IS NULL AND i.expires_at > $4`,
		secret.Fingerprint(value), who.Session.ID, who.Account.ID, a.Now().UnixMilli())
	v.Staff = who
	return v, found && v.Subject.Alive() && !v.Subject.IsStaff(), err
}

func scanView(row sqldb.Row) (v View, err error) {
	v.Subject, err = Scan(row, &v.ID, sqldb.Time(&v.OpenedAt), sqldb.Time(&v.ExpiresAt))
	return v, err
}

// End ends an impersonation: one's own, and for an administrator anybody's.
func (a *Views) End(ctx context.Context, by Who, id string) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		events, err := endViews(tx, a.Now(), "id = $2 AND expires_at > $1 AND (staff = $3 OR $4 = 'admin')", id, by.Account.ID, by.Account.Role)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return notFound()
		}
		events[0].Actor = by.Account.Actor()
		return a.Audit.Append(ctx, tx, events...)
	})
}

// ended is an impersonation that has just ended, by the ids of its people.
type ended struct{ id, staff, subject string }

func scanEnded(row sqldb.Row) (e ended, err error) {
	err = row.Scan(&e.id, &e.staff, &e.subject)
	return e, err
}

// endViews ends the impersonations that a condition names, whose first argument is $2, and is what the log must be told of
// them: each is ended once, so it is told once.
func endViews(tx *sqldb.Tx, now time.Time, where string, args ...any) (events []audit.Event, err error) {
	all, err := sqldb.Collect(tx, scanEnded, "UPDATE impersonations SET ended_at = $1 WHERE ended_at IS NULL AND "+where+" RETURNING id, staff, subject",
		append([]any{now.UnixMilli()}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("end impersonations: %w", err)
	}
	for _, e := range all {
		staff, _, err := Find(tx, e.staff)
		if err != nil {
			return nil, err
		}
		subject, found, err := Find(tx, e.subject)
		if err != nil {
			return nil, err
		}
		if found { // a customer whose account is erased reads nothing any more
			events = append(events, viewEvent("impersonation.ended", staff, subject, e.id))
		}
	}
	return events, nil
}

// endedAtOnce is how many impersonations one transaction of EndExpired ends.
const endedAtOnce = 100

// EndExpired tells of the impersonations whose time is over, and says of how many. Nobody ended them.
func (a *Views) EndExpired(ctx context.Context) (n int64, err error) {
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (int64, error) {
		events, err := endViews(tx, a.Now(), "id IN (SELECT id FROM impersonations WHERE ended_at IS NULL AND expires_at <= $2 ORDER BY expires_at LIMIT $3)",
			a.Now().UnixMilli(), endedAtOnce)
		if err != nil || len(events) == 0 {
			return 0, err
		}
		for i := range events {
			events[i].Actor = audit.Actor{Kind: audit.System}
		}
		return int64(len(events)), a.Audit.Append(ctx, tx, events...)
	})
}
