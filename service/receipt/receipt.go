// Package receipt lets a client ask again for what it may have asked already. A change that came with an Idempotency-Key leaves a
// receipt, in its own transaction: the same request gets the first answer again, and nothing is done twice.
//
// The answer is known only after the change stands, so it is added to the receipt a moment later. A process that dies in between
// leaves a receipt without one: whoever asks again learns that it was done, and nothing else.
package receipt

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("receipt", migrations)

// How long receipts are kept unless another life is given, and how long an answer that holds a secret is shown.
const (
	DefaultLife = 7 * 24 * time.Hour
	SecretLife  = 10 * time.Minute
)

// pause is what lies between two looks for an answer.
const pause = 20 * time.Millisecond

// errSeen is the end of a transaction whose change was made already by a request with the same key.
var errSeen = errors.New("the key was seen before")

// Receipts keeps them.
type Receipts struct {
	DB  *sqldb.DB
	Now func() time.Time
	// Patience is how long somebody who asks again waits for an answer that is on its way. Defaults to 5 seconds.
	Patience time.Duration
	// Life is how long receipts are kept. Defaults to DefaultLife.
	Life time.Duration

	key []byte // authenticates bodies
	box *secret.Box
}

// New keeps receipts in the database, and their answers sealed by the secrets' store.
func New(db *sqldb.DB, secrets *secret.Store, now func() time.Time) *Receipts {
	return &Receipts{DB: db, Now: now, Patience: 5 * time.Second, Life: DefaultLife, key: secrets.Derive("receipt body"), box: secrets.Box("receipt answer")}
}

// Request is what a receipt is for.
type Request struct {
	ID     string // of the request itself, which differs when it comes again
	Holder string // who asks: an account or an API key
	Method string
	Path   string
	Key    string
	Body   []byte
}

// Answer is what a request was answered.
type Answer struct {
	Status   int
	ETag     string `json:",omitempty"`
	Location string `json:",omitempty"`
	Type     string `json:",omitempty"` // of the content
	Body     []byte
	// Once: it holds a secret.
	Once bool
}

// id is the same for all requests that one receipt is for.
func (r Request) id() []byte {
	h := sha256.New()
	for _, part := range []string{r.Holder, r.Method, r.Path, r.Key} {
		_ = binary.Write(h, binary.BigEndian, int64(len(part))) // a hash takes everything
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}

func (s *Receipts) mac(body []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(body)
	return h.Sum(nil)
}

// Guard lets every change that is made under the context leave the receipt, or end with an error if there is one of another request.
// The body may still be on its way.
func (s *Receipts) Guard(ctx context.Context, r *Request) context.Context {
	return sqldb.AlsoGuard(ctx, func(tx *sqldb.Tx) error {
		if err := tx.Do("drop old receipt", "DELETE FROM receipts WHERE id = $1 AND made_at <= $2", r.id(), s.Now().Add(-s.Life).UnixMilli()); err != nil {
			return err
		}
		if err := tx.Do("leave receipt", "INSERT INTO receipts (id, request, body, made_at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING",
			r.id(), r.ID, s.mac(r.Body), s.Now().UnixMilli()); err != nil {
			return err
		}
		by, err := sqldb.Value[string](tx, "read receipt", "SELECT request FROM receipts WHERE id = $1", r.id())
		if err == nil && by != r.ID {
			return errSeen
		}
		return err
	})
}

// Seen reports whether a change was not made because a receipt of another request was there. Find says what became of that.
func Seen(err error) bool { return errors.Is(err, errSeen) }

// Find is what the request was answered when it came first; found is false if it did not. The key with another body is refused. An
// answer that is on its way is waited for.
func (s *Receipts) Find(ctx context.Context, r Request) (a Answer, found bool, err error) {
	for deadline := time.Now().Add(s.Patience); ; {
		sealed, found, err := s.read(ctx, r)
		if err != nil || !found {
			return a, false, err
		}
		if sealed != nil {
			return s.open(r, sealed)
		}
		if time.Now().After(deadline) {
			return a, false, conflict("This was done, and its answer is not known any more.", "Look at what there is.")
		}
		select {
		case <-ctx.Done():
			return a, false, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// left is a receipt as it is stored.
type left struct {
	body, answer []byte
	until, made  int64
}

func scanLeft(row sqldb.Row) (l left, err error) {
	err = row.Scan(&l.body, &l.answer, &l.until, &l.made)
	return l, err
}

func (s *Receipts) read(ctx context.Context, r Request) (sealed []byte, found bool, err error) {
	all, err := sqldb.ReadAll(ctx, s.DB, scanLeft, "SELECT body, answer, shown_until, made_at FROM receipts WHERE id = $1", r.id())
	if err != nil {
		return nil, false, fmt.Errorf("find receipt: %w", err)
	}
	if len(all) == 0 {
		return nil, false, nil
	}
	switch l, now := all[0], s.Now(); {
	case now.Sub(time.UnixMilli(l.made)) >= s.Life:
		return nil, false, nil
	case !hmac.Equal(l.body, s.mac(r.Body)):
		return nil, false, conflict("This key was used with another body.", "Use a new key for a new request.")
	case l.until != 0 && now.UnixMilli() >= l.until:
		return nil, false, conflict("This was done, and its answer is not shown any more.", "Look at what there is.")
	default:
		return l.answer, true, nil
	}
}

func (s *Receipts) open(r Request, sealed []byte) (a Answer, found bool, err error) {
	text, err := s.box.Open(string(r.id()), sealed)
	if err != nil {
		return a, false, fmt.Errorf("open receipt: %w", err)
	}
	return a, true, json.Unmarshal(text, &a)
}

// Keep adds the answer to the receipt. What changed nothing has none yet.
func (s *Receipts) Keep(ctx context.Context, r Request, a Answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	now := s.Now()
	until := now.Add(s.Life)
	if a.Once {
		until = now.Add(min(s.Life, SecretLife))
	}
	return s.DB.Do(sqldb.Regardless(ctx), "keep receipt", `INSERT INTO receipts (id, request, body, answer, shown_until, made_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET answer = excluded.answer, shown_until = excluded.shown_until WHERE receipts.request = excluded.request`,
		r.id(), r.ID, s.mac(r.Body), s.box.Seal(string(r.id()), text), until.UnixMilli(), now.UnixMilli())
}

// Forget takes back the receipt of a request that was refused.
func (s *Receipts) Forget(ctx context.Context, r Request) error {
	return s.DB.Do(sqldb.Regardless(ctx), "forget receipt", "DELETE FROM receipts WHERE id = $1 AND request = $2 AND answer IS NULL", r.id(), r.ID)
}

// Sweep takes away answers that are not shown any more, and some receipts that are too old, and says how many rows it was.
func (s *Receipts) Sweep(ctx context.Context, now time.Time) (int64, error) {
	const batch = 500
	n, err := sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (int64, error) {
		shown, err := tx.Exec(`UPDATE receipts SET answer = NULL WHERE id IN
			(SELECT id FROM receipts WHERE answer IS NOT NULL AND shown_until <= $1 ORDER BY shown_until LIMIT $2)`, now.UnixMilli(), batch)
		if err != nil {
			return 0, err
		}
		old, err := tx.Exec("DELETE FROM receipts WHERE id IN (SELECT id FROM receipts WHERE made_at <= $1 ORDER BY made_at LIMIT $2)", now.Add(-s.Life).UnixMilli(), batch)
		return shown + old, err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep receipts: %w", err)
	}
	return n, nil
}

func conflict(message, details string) error {
	return fault.New(fault.IdempotencyConflict, message, details)
}
