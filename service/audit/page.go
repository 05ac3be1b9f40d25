package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
)

const exportRows = 500 // read at once

// Query asks for events, newest first; its Q is not looked at.
type Query struct {
	listing.Query
	// Scope is whose chain is read; "" is the service's.
	Scope string
	// All reads the events of all chains, each once, instead of Scope's.
	All bool
	// Action and Actor, where set, are those of every event; Actor is an id.
	Action string
	Actor  string
	// From and To, where set, are around every event: From is within, To is not.
	From, To time.Time
}

// Page reads one page. A cursor that no page gave is a fault of type invalid_request.
func (l *Log) Page(ctx context.Context, q Query) (page listing.Page[Event], err error) {
	if printable(q.Scope) != q.Scope {
		return page, nil // no chain has such a name
	}
	statement, args, err := q.statement()
	if err != nil {
		return page, err
	}
	list, err := sqldb.ReadAll(ctx, l.db, scanRow, statement, args...)
	if err != nil {
		return page, fmt.Errorf("read audit events: %w", err)
	}
	return listing.Map(listing.Cut(list, q.Size(), q.place), func(r *row) Event {
		e, _ := r.read()
		return e
	}), nil
}

// place is where the next page goes on. It names no scope, for that comes with each query anew; only where all chains are read
// it names the chain.
func (q Query) place(last *row) []any {
	if q.All {
		return []any{last.event.Seq, last.at, last.event.Chain}
	}
	return []any{last.event.Seq}
}

// statement asks for one row more than the page holds, which says whether there is a next.
func (q Query) statement() (string, []any, error) {
	var where []string
	var args []any
	and := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		where = append(where, condition)
	}
	order := "seq DESC"
	if q.All {
		// A copy in the service's chain keeps its scope.
		and("chain = scope")
		order = "at DESC, chain DESC, seq DESC"
	} else {
		and("chain = ?", q.Scope)
	}
	if q.Action != "" {
		and("action = ?", printable(q.Action))
	}
	if q.Actor != "" {
		and("actor_id = ?", printable(q.Actor))
	}
	if !q.From.IsZero() {
		and("at >= ?", q.From.UnixMilli())
	}
	if !q.To.IsZero() {
		and("at < ?", q.To.UnixMilli())
	}
	if q.Cursor != "" {
		condition, place, err := q.after()
		if err != nil {
			return "", nil, err
		}
		and(condition, place...)
	}
	args = append(args, q.Size()+1)
	return fmt.Sprintf(`SELECT %s FROM audit_events WHERE %s ORDER BY %s LIMIT $%d`,
		columns, strings.Join(where, " AND "), order, len(args)), args, nil
}

// after is the condition that an event is behind the cursor.
func (q Query) after() (condition string, place []any, err error) {
	var seq, at int64
	var chain string
	if !q.All {
		err = q.After(&seq)
		return "seq < ?", []any{seq}, err
	}
	err = q.After(&seq, &at, &chain)
	return "(at, chain, seq) < (?, ?, ?)", []any{at, chain, seq}, err
}

// Export hands every event of a scope's chain to fn, oldest first, until fn returns an error, which Export returns. fn may
// take its time: nothing is held while it runs.
func (l *Log) Export(ctx context.Context, scope string, fn func(Event) error) error {
	if printable(scope) != scope {
		return nil // no chain has such a name
	}
	for after := int64(0); ; {
		list, err := sqldb.ReadAll(ctx, l.db, scanRow, chainRows, scope, after, exportRows)
		if err != nil {
			return fmt.Errorf("export audit events: %w", err)
		}
		for _, r := range list {
			e, _ := r.read()
			if err := fn(e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(list) < exportRows {
			return nil
		}
	}
}

// chainRows are the rows of a chain after a seq, oldest first.
const chainRows = `SELECT ` + columns + ` FROM audit_events WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3`
