package workspace

import (
	"context"
	"strings"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
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
	if err := q.Check(); err != nil {
		return s, err
	}
	s = selection{limit: q.Size(), text: strings.ToLower(q.Q), pattern: sqldb.Contains(q.Q)}
	s.at, s.id, err = q.Older()
	return s, err
}

// paged is a page of what a workspace has, for a caller with the right that is needed. Some is what a selection asks for, and one more.
func paged[T any](ctx context.Context, w *Workspaces, by Caller, address string, need Right, q listing.Query, place func(T) []any,
	some func(tx *sqldb.Tx, workspace string, sel selection) ([]T, error)) (p listing.Page[T], err error) {
	sel, err := selected(q)
	if err != nil {
		return p, err
	}
	return read(ctx, w, by, address, need, func(tx *sqldb.Tx, s seat) (listing.Page[T], error) {
		all, err := some(tx, s.ID, sel)
		return listing.Cut(all, sel.limit, place), err
	})
}
