package workspace

import (
	"strings"
	"unicode/utf8"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/strictjson"
)

// selection is a query as a statement needs it.
type selection struct {
	at      int64 // of the item before the first, in Unix milliseconds
	id      string
	limit   int
	pattern string // of LIKE, with \ as the escape
	text    string // lower case; "" is all
}

func selected(q listing.Query) (s selection, err error) {
	switch {
	case utf8.RuneCountInString(q.Q) > maxQuery:
		return s, wrong("q", strictjson.TooLong)
	case !isVisible(q.Q):
		return s, wrong("q", strictjson.Invalid)
	}
	s = selection{limit: q.Size(), text: strings.ToLower(q.Q), pattern: sqldb.Contains(q.Q)}
	s.at, s.id, err = q.Older()
	return s, err
}
