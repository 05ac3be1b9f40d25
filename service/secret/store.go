package secret

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/redact"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("secret", migrations)

// Config is the choices of a store; the zero value is a good one.
type Config struct {
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears of values that do not open and of keys that should be rotated. Defaults to slog.Default().
	Log *slog.Logger
	// Redactor learns every value that is sealed or opened. Defaults to none.
	Redactor *redact.Redactor
	// RewrapPause is how long Rewrap rests after each batch of 32. Defaults to 20 milliseconds.
	RewrapPause time.Duration
}

// Store keeps secrets in a database and their keys outside of it. It is safe for concurrent use.
type Store struct {
	db     *sqldb.DB
	config Config
	root   Secret
	keys   atomic.Pointer[KeyProvider]
	notes  notes
}

// Empty reports whether nothing was ever sealed in the migrated database: only then may a new ring be made for it.
func Empty(ctx context.Context, db *sqldb.DB) (bool, error) {
	empty, err := sqldb.Read(ctx, db, isEmpty)
	if err != nil {
		return false, fmt.Errorf("look for secrets: %w", err)
	}
	return empty, nil
}

func isEmpty(tx *sqldb.Tx) (bool, error) {
	return sqldb.Column[bool](tx.QueryRow(`SELECT NOT EXISTS (SELECT 1 FROM secret_keys) AND NOT EXISTS (SELECT 1 FROM secrets)
AND NOT EXISTS (SELECT 1 FROM secret_values)`))
}

// Open gives a store on a migrated database. It refuses with ErrKeyMismatch, whose text stands first, when a key is not
// the one that its kid stood for before, or when values need a kid that is missing; over an empty database it begins.
func Open(ctx context.Context, db *sqldb.DB, keys KeyProvider, c Config) (*Store, error) {
	c.Now, c.Log = iso.Clock(c.Now), cmp.Or(c.Log, slog.Default())
	c.RewrapPause = cmp.Or(c.RewrapPause, 20*time.Millisecond)
	s := &Store{db: db, config: c, notes: notes{uses: map[string]int64{}, wraps: map[string]int64{}}}
	root, err := s.attach(ctx, keys, false)
	if err != nil {
		return nil, err
	}
	s.root = root
	s.keys.Store(&keys)
	return s, nil
}

// Keys are those that new values are sealed under.
func (s *Store) Keys() KeyProvider { return *s.keys.Load() }

func (s *Store) now() int64 { return s.config.Now().UnixMilli() }

// learn tells the redactor a value, before anybody else can tell it.
func (s *Store) learn(value []byte) {
	if s.config.Redactor != nil {
		s.config.Redactor.Add(value)
	}
}
