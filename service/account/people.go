package account

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// PeopleQuery asks for some people, newest first.
type PeopleQuery struct {
	Q      string // part of a username, a display name or an address
	Staff  bool   // only those with a role over the service, whose account is not deleted
	Cursor string // the Next of the page before
	Limit  int
}

// People is some people.
type People struct {
	Items []Person
	Next  string // the cursor of the page after; "" when there is none
}

const personColumns = accountColumns + `, a.suspend_reason, a.updated_at,
	COALESCE((SELECT MAX(s.last_seen_at) FROM sessions s WHERE s.account = a.id), 0),
	(SELECT count(*) FROM sessions s WHERE s.account = a.id AND s.revoked_at IS NULL AND s.last_seen_at > $1 AND s.created_at > $2)`

// aliveSince are the arguments of personColumns.
func (a *Accounts) aliveSince() []any {
	now := a.Now()
	return []any{now.Add(-a.Idle).UnixMilli(), now.Add(-a.Absolute).UnixMilli()}
}

func (a *Accounts) scanPerson(row scanner) (p Person, err error) {
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
func (a *Accounts) People(ctx context.Context, q PeopleQuery) (all People, err error) {
	if problem := checkText(q.Q, 0, maxQuery); problem != "" {
		return all, fields{{Field: "q", Type: problem}}.refusal()
	}
	at, id, err := readPlace(q.Cursor)
	if err != nil {
		return all, err
	}
	pattern := sqldb.Contains(strings.ToLower(q.Q))
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all.Items, err = a.people(tx, at, id, pattern, q.Staff, q.Limit+1)
		return err
	})
	if err != nil {
		return People{}, fmt.Errorf("list people: %w", err)
	}
	if len(all.Items) > q.Limit {
		all.Items = all.Items[:q.Limit]
		last := all.Items[q.Limit-1]
		all.Next = place(last.CreatedAt.UnixMilli(), last.ID)
	}
	return all, nil
}

func (a *Accounts) people(tx *sqldb.Tx, at int64, id, pattern string, staff bool, limit int) (all []Person, err error) {
	which := ""
	if staff {
		which = " AND a.service_role <> 'none' AND a.deleted_at IS NULL"
	}
	rows, err := tx.Query(`SELECT `+personColumns+` FROM accounts a WHERE a.username <> a.id AND (a.created_at, a.id) < ($3, $4)
		AND (a.username LIKE $5 ESCAPE '\' OR LOWER(a.display_name) LIKE $5 ESCAPE '\' OR a.email LIKE $5 ESCAPE '\')`+which+`
		ORDER BY a.created_at DESC, a.id DESC LIMIT $6`, append(a.aliveSince(), at, id, pattern, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		p, err := a.scanPerson(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// place is where somebody stands in the list.
func place(at int64, id string) string {
	text, _ := json.Marshal([]any{at, id}) // a number and a text always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

func readPlace(cursor string) (at int64, id string, err error) {
	if cursor == "" {
		return math.MaxInt64, "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	// Another text that means the same was not given by a page, and an id has nothing that a database would not take.
	if err != nil || json.Unmarshal(text, &[]any{&at, &id}) != nil || place(at, id) != cursor || checkText(id, 0, maxQuery) != "" {
		return 0, "", fields{{Field: "cursor", Type: invalid}}.refusal()
	}
	return at, id, nil
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
	rows, err := tx.Query("SELECT "+personColumns+" FROM accounts a WHERE a.id = $3 AND a.username <> a.id", append(a.aliveSince(), id)...)
	if err != nil {
		return p, false, fmt.Errorf("find person: %w", err)
	}
	defer rows.Close()
	if !rows.Next() {
		return p, false, rows.Err()
	}
	p, err = a.scanPerson(rows)
	return p, err == nil, err
}
