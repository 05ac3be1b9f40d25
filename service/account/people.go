package account

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
)

// Bounds of what staff write and search for, in code points.
const (
	minReason = 10 // of an impersonation
	maxReason = 500
	maxQuery  = 200
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
}

const personColumns = accountColumns + `, a.suspend_reason, a.updated_at,
	COALESCE((SELECT MAX(s.last_seen_at) FROM sessions s WHERE s.account = a.id), 0),
	(SELECT count(*) FROM sessions s WHERE s.account = a.id AND s.revoked_at IS NULL AND s.last_seen_at > $1 AND s.created_at > $2)`

// aliveSince are the arguments of personColumns.
func (a *Accounts) aliveSince() []any {
	now := a.Now()
	return []any{now.Add(-a.Idle).UnixMilli(), now.Add(-a.Absolute).UnixMilli()}
}

func (a *Accounts) scanPerson(row sqldb.Row) (p Person, err error) {
	var seen, updated int64
	if p.Account, err = scanAccount(row, &p.Reason, &updated, &seen, &p.Sessions); err != nil {
		return p, err
	}
	p.UpdatedAt = time.UnixMilli(updated)
	if seen != 0 {
		p.LastSeenAt = time.UnixMilli(seen)
	}
	if p.deletedAt != 0 {
		p.EraseAt = time.UnixMilli(p.deletedAt).Add(a.Hold)
	}
	return p, nil
}

// People lists everybody whose account is not erased.
func (a *Accounts) People(ctx context.Context, q PeopleQuery) (page listing.Page[Person], err error) {
	if problem := checkText(q.Q, 0, maxQuery); problem != "" {
		return page, fields{{Field: "q", Type: problem}}.refusal()
	}
	at, id, err := q.Older()
	if err != nil {
		return page, err
	}
	pattern := sqldb.Contains(strings.ToLower(q.Q))
	err = a.db.Read(ctx, func(tx *sqldb.Tx) error {
		all, err := a.people(tx, at, id, pattern, q.Staff, q.Size()+1)
		page = listing.Cut(all, q.Size(), func(p Person) []any { return listing.Age(p.CreatedAt, p.ID) })
		return err
	})
	if err != nil {
		return listing.Page[Person]{}, fmt.Errorf("list people: %w", err)
	}
	return page, nil
}

func (a *Accounts) people(tx *sqldb.Tx, at int64, id, pattern string, staff bool, limit int) ([]Person, error) {
	which := ""
	if staff {
		which = " AND a.service_role <> 'none' AND a.deleted_at IS NULL"
	}
	return sqldb.Collect(tx, a.scanPerson, `SELECT `+personColumns+` FROM accounts a WHERE a.username <> a.id AND (a.created_at, a.id) < ($3, $4)
		AND (a.username LIKE $5 ESCAPE '\' OR LOWER(a.display_name) LIKE $5 ESCAPE '\' OR a.email LIKE $5 ESCAPE '\')`+which+`
		ORDER BY a.created_at DESC, a.id DESC LIMIT $6`, append(a.aliveSince(), at, id, pattern, limit)...)
}

// checkLine says what is wrong with a text on one line.
func checkLine(text string, least, most int) string {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) }) {
		return invalid
	}
	return checkText(text, least, most)
}

// checkText says what is wrong with a text that somebody wrote.
func checkText(text string, least, most int) string {
	n := utf8.RuneCountInString(strings.TrimSpace(text))
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }):
		return invalid
	case n < least:
		return tooShort
	case n > most:
		return tooLong
	}
	return ""
}

// Person is the person of that id.
func (a *Accounts) Person(ctx context.Context, id string) (p Person, err error) {
	var found bool
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		p, found, err = a.person(tx, id)
		return err
	})
	if err == nil && !found {
		err = notFound()
	}
	return p, err
}

func (a *Accounts) person(tx *sqldb.Tx, id string) (p Person, found bool, err error) {
	all, err := sqldb.Collect(tx, a.scanPerson, "SELECT "+personColumns+" FROM accounts a WHERE a.id = $3 AND a.username <> a.id", append(a.aliveSince(), id)...)
	if err != nil {
		return p, false, fmt.Errorf("find person: %w", err)
	}
	if len(all) == 0 {
		return p, false, nil
	}
	return all[0], true, nil
}
