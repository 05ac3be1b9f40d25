package audit

import (
	"context"
	"fmt"
	"strings"

	"svc.dev/svc/internal/sqldb"
)

const (
	defaultLimit = 50
	maxLimit     = 200
	exportRows   = 500 // read at once
)

// Query asks for events, newest first.
type Query struct {
	// Scope is whose chain is read; "" is the service's.
	Scope string
	// All reads the events of all chains, each once, instead of Scope's.
	All bool
	// Action and Actor, where set, are those of every event; Actor is an id.
	Action string
	Actor  string
	// Cursor is the Next of the page before. Defaults to the newest.
	Cursor string
	// Limit is the most events of a page, at most 200. Defaults to 50.
	Limit int
}

// Page is some events, newest first.
type Page struct {
	Events []Event
	Next   string // the cursor of the page after; "" when there is none
}

// Page reads one page. A cursor that no page gave is a fault of type invalid_request.
func (l *Log) Page(ctx context.Context, q Query) (Page, error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Limit = min(q.Limit, maxLimit)
	if printable(q.Scope) != q.Scope {
		return Page{}, nil // no chain has such a name
	}
	statement, args, err := q.statement()
	if err != nil {
		return Page{}, err
	}
	list, err := readRows(ctx, l.db, statement, args...)
	if err != nil {
		return Page{}, fmt.Errorf("read audit events: %w", err)
	}
	var p Page
	for _, r := range list[:min(len(list), q.Limit)] {
		e, _ := r.read()
		p.Events = append(p.Events, e)
	}
	if len(list) > q.Limit {
		last := list[q.Limit-1]
		p.Next = cursor{seq: last.event.Seq, at: last.at, chain: last.event.Chain}.text(q.All)
	}
	return p, nil
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
	if q.Cursor != "" {
		c, err := parseCursor(q.Cursor, q.All)
		if err != nil {
			return "", nil, err
		}
		if q.All {
			and("(at, chain, seq) < (?, ?, ?)", c.at, c.chain, c.seq)
		} else {
			and("seq < ?", c.seq)
		}
	}
	args = append(args, q.Limit+1)
	return fmt.Sprintf(`SELECT %s FROM audit_events WHERE %s ORDER BY %s LIMIT $%d`,
		columns, strings.Join(where, " AND "), order, len(args)), args, nil
}

// Export hands every event of a scope's chain to fn, oldest first, until fn returns an error, which Export returns. fn may
// take its time: nothing is held while it runs.
func (l *Log) Export(ctx context.Context, scope string, fn func(Event) error) error {
	if printable(scope) != scope {
		return nil // no chain has such a name
	}
	for after := int64(0); ; {
		list, err := readRows(ctx, l.db, chainRows, scope, after, exportRows)
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

func readRows(ctx context.Context, db *sqldb.DB, query string, args ...any) (list []*row, err error) {
	err = db.Read(ctx, func(tx *sqldb.Tx) error {
		rows, err := tx.Query(query, args...)
		if err != nil {
			return err
		}
		list, err = scanRows(rows)
		return err
	})
	return list, err
}
