package project

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/strictjson"
)

const (
	defaultPage = 50
	maxPage     = 200
)

// Query asks for some items of a list.
type Query struct {
	// Cursor is the Next of the page before. Defaults to the first page.
	Cursor string
	// Limit is the most items of a page, at most 200. Defaults to 50.
	Limit int
	// Q is a part of the name or the slug of every project. Defaults to all.
	Q string
}

// Page is some items of a list.
type Page[T any] struct {
	Items []T
	Next  string // the cursor of the page after; "" when there is none
}

func (q Query) limit() int {
	if q.Limit <= 0 {
		return defaultPage
	}
	return min(q.Limit, maxPage)
}

// List is the projects of a workspace, the newest first.
func (p *Projects) List(ctx context.Context, o Owner, q Query) (Page[Project], error) {
	return p.list(ctx, "p.workspace = $1 AND p.scope = $2", []any{o.Workspace, o.Scope}, q)
}

// All is the projects of all workspaces, the newest first, for staff.
func (p *Projects) All(ctx context.Context, q Query) (Page[Project], error) {
	return p.list(ctx, "p.workspace <> $1 AND p.scope <> $2", []any{"", ""}, q)
}

func (p *Projects) list(ctx context.Context, which string, args []any, q Query) (page Page[Project], err error) {
	after := place{At: math.MaxInt64}
	if q.Cursor != "" {
		if err := parseCursor(q.Cursor, &after); err != nil {
			return page, err
		}
	}
	if err := checkText("q", q.Q, 0, maxQuery, unicode.IsPrint); err != nil {
		return page, err
	}
	limit := q.limit()
	args = append(args, after.At, after.ID, sqldb.Contains(strings.ToLower(q.Q)), limit+1)
	err = p.DB.Read(ctx, func(tx *sqldb.Tx) error {
		rows, err := tx.Query("SELECT "+recordColumns+" FROM "+recordTables+" WHERE "+which+` AND p.deleted_at IS NULL
			AND (p.created_at, p.id) < ($3, $4) AND p.folded LIKE $5 ESCAPE '\' ORDER BY p.created_at DESC, p.id DESC LIMIT $6`, args...)
		all, err := collect(rows, err, func(s scanner) (Project, error) { r, err := scanRecord(s); return r.Project, err })
		if err != nil {
			return fmt.Errorf("list projects: %w", err)
		}
		page = cut(all, limit, func(one Project) string { return cursorOf(place{one.CreatedAt.UnixMilli(), one.ID}) })
		return nil
	})
	return page, err
}

// place is where an item stands in a list that is ordered by age.
type place struct {
	At int64
	ID string
}

// cursorOf is a place as a client gets it.
func cursorOf(place any) string {
	text, _ := json.Marshal(place) // numbers and texts always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor takes a cursor that cursorOf gave, and no other text that means the same.
func parseCursor[T any](cursor string, into *T) error {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	// A database takes no zero byte.
	if err != nil || json.Unmarshal(text, into) != nil || cursorOf(*into) != cursor || strings.Contains(string(text), `\u0000`) {
		return notGiven()
	}
	return nil
}

func notGiven() error {
	return fault.Invalid("The cursor was not given by this list.").
		With("fields", []strictjson.Field{{Field: "cursor", Type: strictjson.Invalid}})
}

// cut makes a page of items of which there may be one more than it holds.
func cut[T any](all []T, limit int, cursor func(T) string) Page[T] {
	if len(all) <= limit {
		return Page[T]{Items: all}
	}
	return Page[T]{Items: all[:limit], Next: cursor(all[limit-1])}
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
