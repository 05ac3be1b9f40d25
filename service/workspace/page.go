package workspace

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/strictjson"
)

const (
	defaultLimit = 50
	maxLimit     = 200
)

// Query asks for some items of a list, newest first.
type Query struct {
	// Cursor is the Next of the page before. Defaults to the newest.
	Cursor string
	// Limit is the most items of a page, at most 200. Defaults to 50.
	Limit int
	// Q is a part of the name of every item. Defaults to all.
	Q string
}

// Page is some items of a list.
type Page[T any] struct {
	Items []T
	Next  string // the cursor of the page after; "" when there is none
}

// place is where an item stands in a list.
type place struct {
	at int64 // Unix milliseconds
	id string
}

func placeOf(at time.Time, id string) place { return place{at.UnixMilli(), id} }

// first comes before every item.
var first = place{at: math.MaxInt64}

func (p place) String() string {
	text, _ := json.Marshal([]any{p.at, p.id}) // a number and a text always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePlace(cursor string) (place, error) {
	var p place
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return p, invalidCursor()
	}
	list := []any{&p.at, &p.id}
	// Another text that means the same was not given by a page, and an id has nothing that a database would not take.
	if json.Unmarshal(text, &list) != nil || p.String() != cursor || !isVisible(p.id) {
		return p, invalidCursor()
	}
	return p, nil
}

func invalidCursor() error {
	return fault.Invalid("The cursor was not given by this list.").
		With("fields", []strictjson.Field{{Field: "cursor", Type: strictjson.Invalid}})
}

// selection is a query as a statement needs it.
type selection struct {
	after   place
	limit   int
	pattern string // of LIKE, with \ as the escape
	text    string // lower case; "" is all
}

func (q Query) selection() (s selection, err error) {
	s = selection{after: first, limit: q.Limit, text: strings.ToLower(q.Q)}
	if s.limit <= 0 {
		s.limit = defaultLimit
	}
	s.limit = min(s.limit, maxLimit)
	switch {
	case utf8.RuneCountInString(q.Q) > maxQuery:
		return s, wrong("q", strictjson.TooLong)
	case !isVisible(q.Q):
		return s, wrong("q", strictjson.Invalid)
	}
	s.pattern = sqldb.Contains(q.Q)
	if q.Cursor != "" {
		s.after, err = parsePlace(q.Cursor)
	}
	return s, err
}

// cut makes a page of items of which there may be more than it holds.
func cut[T any](all []T, limit int, at func(T) place) Page[T] {
	if len(all) <= limit {
		return Page[T]{Items: all}
	}
	return Page[T]{Items: all[:limit], Next: at(all[limit-1]).String()}
}

// collect reads rows to their end and closes them.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}
