// Package listing is how lists are read in pages: how many items, after which one.
package listing

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

// Bounds of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 200
	// MaxQ is how long a text may be that is searched for, in characters.
	MaxQ = 200
)

// Query asks for some items of a list.
type Query struct {
	// Cursor is the Next of the page before. Defaults to the first page.
	Cursor string
	// Limit is the most items of a page, at most MaxLimit. Defaults to DefaultLimit.
	Limit int
	// Q is a part of the name of every item. Defaults to all.
	Q string
}

// Size is how many items the page holds at most. Read one more: it tells whether there is a next.
func (q Query) Size() int {
	if q.Limit <= 0 {
		return DefaultLimit
	}
	return min(q.Limit, MaxLimit)
}

// Check refuses a text that no list is searched for: one that is too long, is none, or that nobody can have written on one line.
func (q Query) Check() error {
	switch {
	case !isLine(q.Q):
		return wrong("The text that is searched for is none.", "q", "invalid")
	case utf8.RuneCountInString(q.Q) > MaxQ:
		return wrong("The text that is searched for is too long.", "q", "too_long")
	case !isLine(q.Cursor):
		return NotGiven()
	}
	return nil
}

func isLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// Of is the query of one list among several, whose cursors name the list that they are of (Label): that of another is refused.
func (q Query) Of(list string) (Query, error) {
	if q.Cursor == "" {
		return q, nil
	}
	own, found := strings.CutPrefix(q.Cursor, list+".")
	if !found || own == "" {
		return q, NotGiven()
	}
	q.Cursor = own
	return q, nil
}

// Label is a cursor with the list that it is of; where there is no next page there is none.
func Label(list, cursor string) string {
	if cursor == "" {
		return ""
	}
	return list + "." + cursor
}

// After reads where the page before has ended, which is left as it was where there is none. A cursor that no such list gave is
// a fault of type invalid_request.
func (q Query) After(place ...any) error {
	if q.Cursor == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	into := slices.Clone(place)
	// Another text that means the same was not given by a list.
	if err != nil || json.Unmarshal(text, &into) != nil || Cursor(place...) != q.Cursor || !storable(place) {
		return NotGiven()
	}
	return nil
}

// Older is After for a list that is ordered by age, the newest first.
func (q Query) Older() (at int64, id string, err error) {
	at = math.MaxInt64
	err = q.After(&at, &id)
	return at, id, err
}

// storable reports whether a database can be asked about a place: it takes no zero byte.
func storable(place []any) bool {
	for _, p := range place {
		if text, is := p.(*string); is && !sqldb.Storable(*text) {
			return false
		}
	}
	return true
}

// NotGiven refuses a cursor.
func NotGiven() error { return wrong("The cursor was not given by this list.", "cursor", "invalid") }

func wrong(message, field, problem string) error {
	return fault.Invalid("%s", message).With("fields", []map[string]string{{"field": field, "type": problem}})
}

// Page is some items of a list.
type Page[T any] struct {
	Items []T
	Next  string // the cursor of the page after; "" when there is none
}

// Cut makes a page of items of which there may be more than it holds. A place is numbers, texts and truths.
func Cut[T any](all []T, size int, place func(T) []any) Page[T] {
	if len(all) <= size {
		return Page[T]{Items: all}
	}
	return Page[T]{Items: all[:size], Next: Cursor(place(all[size-1])...)}
}

// Map is a page with each of its items shown otherwise.
func Map[T, V any](p Page[T], show func(T) V) Page[V] {
	shown := Page[V]{Items: make([]V, len(p.Items)), Next: p.Next}
	for i, item := range p.Items {
		shown.Items[i] = show(item)
	}
	return shown
}

// Age is the place of an item in a list that is ordered by age.
func Age(at time.Time, id string) []any { return []any{at.UnixMilli(), id} }

// Cursor is a place as a client gets it.
func Cursor(place ...any) string {
	text, _ := json.Marshal(place) // numbers, texts and truths always marshal, and so do pointers to them
	return base64.RawURLEncoding.EncodeToString(text)
}
