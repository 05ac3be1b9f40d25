// Package audit remembers who did what, so that nobody changes it unnoticed: each scope has a chain of events, and the
// service has one, in which every event carries the hash of the one before. An event is written in the transaction of its
// act: without the one there is not the other.
//
// Hashes find what was edited, deleted, inserted or reordered. They need no key, so whoever can write to the database can
// also write a chain anew, or cut off its end. That is found by checkpoints: the heads of all chains, signed, in a file
// that lies elsewhere. What was appended after the last checkpoint is covered by the next.
package audit

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("audit", migrations)

// Config is what a log is made of.
type Config struct {
	// Key is the key of Hash, at least 32 bytes. It has no default.
	Key []byte
	// Seed is the Ed25519 seed that signs checkpoints and anchors, 32 bytes. It has no default.
	Seed []byte
	// Folder holds the checkpoints of this node. It is made when it is not there. Defaults to none: no checkpoints.
	Folder string
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

// Log is the audit log of one database, safe for concurrent use. Several nodes have one each.
type Log struct {
	db      *sqldb.DB
	config  Config
	private ed25519.PrivateKey

	refusals refusals
	appended atomic.Int64  // since the last checkpoint, roughly
	due      chan struct{} // holds a value when a checkpoint should not wait
	sink     sink          // without a folder: no checkpoints

	mu   sync.Mutex // held while a checkpoint is made
	last written
}

// Open gives the log of a database that is open and migrated. It writes nothing.
func Open(ctx context.Context, db *sqldb.DB, c Config) (*Log, error) {
	if len(c.Key) < 32 {
		return nil, errors.New("open audit log: the key is shorter than 32 bytes")
	}
	if len(c.Seed) != ed25519.SeedSize {
		return nil, errors.New("open audit log: the seed is not 32 bytes")
	}
	c.Now, c.Log = iso.Clock(c.Now), cmp.Or(c.Log, slog.Default())
	if _, err := sqldb.ReadAll(ctx, db, sqldb.Column[bool], `SELECT EXISTS (SELECT 1 FROM audit_heads)`); err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	return &Log{
		db: db, config: c, private: ed25519.NewKeyFromSeed(c.Seed), sink: sink{c.Folder},
		refusals: refusals{kinds: map[refusal]*tally{}}, due: make(chan struct{}, 1),
	}, nil
}

// PublicKey verifies what the log signs.
func (l *Log) PublicKey() ed25519.PublicKey { return l.private.Public().(ed25519.PublicKey) }

// Hash is the HMAC of a sensitive string: equal ones can be matched, and none can be read.
func (l *Log) Hash(value string) string {
	mac := hmac.New(sha256.New, l.config.Key)
	mac.Write([]byte(value))
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}
