// Package storage is how much workspaces may store: their limits, what is used and reserved of them, and the warnings of their
// owners.
//
// Bytes are reserved before they are written, in the one row that each workspace has, so that writers beside each other
// cannot pass the limit together. The tables are made by the migrations of project, whose changes hold on to reservations.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
)

// defaultLimit is how many bytes a workspace may store where nobody says otherwise.
const defaultLimit = 10 << 30

// Config is what quotas need. DB and Audit are required.
type Config struct {
	DB    *sqldb.DB
	Audit *audit.Log
	// Limit is how many bytes a workspace may store that has no limit of its own. Defaults to 10 GiB.
	Limit int64
	// Measure is what a scope stores elsewhere. Defaults to nothing.
	Measure Measure
	// Warn tells the owners of a workspace that its storage has passed a threshold, in the transaction that remembers it,
	// and returns the id of the workspace; without one there is none, and nothing is remembered. Defaults to nobody: the
	// audit log alone tells, of the scope.
	Warn func(tx *sqldb.Tx, w Warning) (workspace string, err error)
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

// Quotas is what the workspaces of a service may store, safe for concurrent use. Several nodes have one each.
type Quotas struct {
	Config
	*Gauge
	turns *memory.Turns // of those who lock a scope
}

// locksAtOnce is how many scopes are locked by one node at once: fewer than there are connections unless an operator sets them lower.
const locksAtOnce = 12

// New makes the quotas of a database whose tables stand.
func New(c Config) (*Quotas, error) {
	if c.DB == nil || c.Audit == nil {
		return nil, errors.New("quotas need a database and an audit log")
	}
	if c.Limit < 0 {
		return nil, errors.New("the limit of storage is not negative")
	}
	if c.Warn == nil {
		c.Warn = func(_ *sqldb.Tx, w Warning) (string, error) { return w.Scope, nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	return &Quotas{Config: c, Gauge: NewGauge(c.DB, c.Limit, c.Measure), turns: memory.NewTurns(1, locksAtOnce)}, nil
}

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

func (q Quota) storage() Storage {
	return Storage{
		Scope: q.scope, LimitBytes: q.limit, UsedBytes: q.total(), ReservedBytes: q.reserved, SoftLimitPercent: softLimitPercent,
		State: q.state(), ByKind: Kinds{Projects: q.used, Attachments: q.attachments, Streams: q.streams},
		MeasuredAt: iso.Millis(q.measuredAt),
	}
}

func (q Quota) state() string {
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

// Of measures a workspace.
func (s *Quotas) Of(ctx context.Context, address string) (Storage, error) {
	if _, err := scope.Workspace(address); err != nil {
		return Storage{}, err
	}
	if err := s.Refresh(ctx, address); err != nil {
		return Storage{}, err
	}
	q, err := s.Read(ctx, address)
	return q.storage(), err
}

// All is the storage of all workspaces that ever stored anything, by their scopes, for staff. It shows what was measured
// last.
func (s *Quotas) All(ctx context.Context, query listing.Query) (page listing.Page[Storage], err error) {
	var after string
	if err := query.After(&after); err != nil {
		return page, err
	}
	if err := query.Check(); err != nil {
		return page, err
	}
	all, err := sqldb.ReadAll(ctx, s.DB, scanQuota, "SELECT "+quotaColumns+` FROM storage_quotas
		WHERE scope > $1 AND scope LIKE $3 ESCAPE '\' ORDER BY scope LIMIT $4`, after, s.limit, sqldb.Contains(strings.ToLower(query.Q)), query.Size()+1)
	if err != nil {
		return page, fmt.Errorf("list storage: %w", err)
	}
	return listing.Map(listing.Cut(all, query.Size(), func(q Quota) []any { return []any{q.scope} }), Quota.storage), nil
}

// SetLimit gives a workspace a limit of its own; a negative one is that of everybody.
func (s *Quotas) SetLimit(ctx context.Context, by audit.Actor, address string, bytes int64) error {
	if _, err := scope.Workspace(address); err != nil {
		return err
	}
	return s.Change(ctx, address, func(tx *sqldb.Tx, q *Quota) error {
		var limit any
		if q.limit = s.limit; bytes >= 0 {
			limit, q.limit = bytes, bytes
		}
		return cmp.Or(
			tx.Do("set limit", "UPDATE storage_quotas SET limit_bytes = $2 WHERE scope = $1", address, limit),
			s.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: "storage.limited", Target: audit.Target{Kind: "storage", ID: address}, Scope: address}),
		)
	})
}
