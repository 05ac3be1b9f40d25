package project

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
)

// The states of a workspace's storage.
const (
	StateOK      = "ok"
	StateWarning = "warning" // past the soft limit
	StateOver    = "over"    // at the limit or past it: nothing more can be written
	StateBlocked = "blocked" // a limit of zero: nothing ever could
)

// softLimitPercent is how full a workspace may be before it is warned.
const softLimitPercent = 80

// Storage is how much a workspace stores, in bytes.
type Storage struct {
	Scope            string     `json:"-"`
	LimitBytes       int64      `json:"limitBytes"`
	UsedBytes        int64      `json:"usedBytes"`     // all kinds together
	ReservedBytes    int64      `json:"reservedBytes"` // about to be written
	SoftLimitPercent int        `json:"softLimitPercent"`
	State            string     `json:"state" enum:"ok warning over blocked"`
	ByKind           Kinds      `json:"byKind"`
	MeasuredAt       iso.Moment `json:"measuredAt"`
}

// Kinds is the bytes of each kind.
type Kinds struct {
	Projects    int64 `json:"projects"`
	Attachments int64 `json:"attachments"`
	Streams     int64 `json:"streams"`
	Snapshots   int64 `json:"snapshots"`
}

// Storage measures a workspace.
func (p *Projects) Storage(ctx context.Context, scope string) (Storage, error) {
	if _, err := placeOf(scope); err != nil {
		return Storage{}, err
	}
	if err := p.measure(ctx, scope); err != nil {
		return Storage{}, err
	}
	q, err := p.quotaOf(ctx, scope)
	return q.storage(scope), err
}

func (p *Projects) quotaOf(ctx context.Context, scope string) (q quota, err error) {
	err = p.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		q, _, err = readQuota(tx, scope, p.Limit, "")
		return err
	})
	return q, err
}

func (q quota) storage(scope string) Storage {
	return Storage{
		Scope: scope, LimitBytes: q.limit, UsedBytes: q.total(), ReservedBytes: q.reserved, SoftLimitPercent: softLimitPercent,
		State: q.state(), ByKind: Kinds{Projects: q.used, Attachments: q.attachments, Streams: q.streams},
		MeasuredAt: iso.Millis(q.measuredAt),
	}
}

func (q quota) state() string {
	switch {
	case q.limit == 0:
		return StateBlocked
	case q.total() >= q.limit:
		return StateOver
	case q.against(softLimitPercent) >= 0:
		return StateWarning
	}
	return StateOK
}

// Admit refuses new work in a workspace that is full.
func (p *Projects) Admit(ctx context.Context, scope string) error { return p.gauge.Admit(ctx, scope) }

// SetLimit gives a workspace a limit of its own; a negative one is that of everybody.
func (p *Projects) SetLimit(ctx context.Context, by audit.Actor, scope string, bytes int64) error {
	if _, err := placeOf(scope); err != nil {
		return err
	}
	var q quota
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if q, err = p.lockQuota(tx, scope); err != nil {
			return err
		}
		var limit any
		if q.limit = p.Limit; bytes >= 0 {
			limit, q.limit = bytes, bytes
		}
		if _, err := tx.Exec("UPDATE storage_quotas SET limit_bytes = $2 WHERE scope = $1", scope, limit); err != nil {
			return fmt.Errorf("set limit: %w", err)
		}
		return p.Audit.Append(ctx, tx, event(ctx, by, scope, "storage.limited", "storage", scope))
	})
	if err != nil {
		return err
	}
	p.heed(ctx, scope, q)
	return nil
}

// AllStorage is the storage of all workspaces that ever stored anything, by their scopes, for staff. It shows what was
// measured last.
func (p *Projects) AllStorage(ctx context.Context, query listing.Query) (page listing.Page[Storage], err error) {
	var after string
	if err := query.After(&after); err != nil {
		return page, err
	}
	if err := checkText("q", query.Q, 0, maxQuery, unicode.IsPrint); err != nil {
		return page, err
	}
	err = p.DB.Read(ctx, func(tx *sqldb.Tx) error {
		all, err := sqldb.Collect(tx, scanStorage, `SELECT scope, COALESCE(limit_bytes, $1), used, reserved, attachments, streams, measured_at FROM storage_quotas
			WHERE scope > $2 AND scope LIKE $3 ESCAPE '\' ORDER BY scope LIMIT $4`, p.Limit, after, sqldb.Contains(strings.ToLower(query.Q)), query.Size()+1)
		if err != nil {
			return fmt.Errorf("list storage: %w", err)
		}
		page = listing.Cut(all, query.Size(), func(s Storage) []any { return []any{s.Scope} })
		return nil
	})
	return page, err
}

func scanStorage(row sqldb.Row) (Storage, error) {
	var scope string
	var q quota
	err := row.Scan(&scope, &q.limit, &q.used, &q.reserved, &q.attachments, &q.streams, &q.measuredAt)
	return q.storage(scope), err
}
