package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// trimRows is how many rows are deleted in one transaction.
const trimRows = 500

// anchor is the last event that was deleted from a chain, signed: what is left follows it.
type anchor struct {
	head
	at        time.Time
	signature []byte
}

// canonical is what the signature covers.
func (a anchor) canonical() []byte {
	var o object
	o.text("chain", a.chain)
	o.bytes("hash", a.hash)
	o.number("seq", a.seq)
	o.time("ts", a.at)
	o.text("type", "anchor")
	return o.end()
}

// holds reports whether the anchor is one that key has signed.
func (a anchor) holds(key ed25519.PublicKey) bool {
	return a.seq > 0 && len(a.hash) == sha256.Size && ed25519.Verify(key, a.canonical(), a.signature)
}

// Trim deletes the events of a chain up to the first that is not older than before, in small batches, and leaves a signed
// anchor in their place. It returns how many it deleted. It deletes none that Verify would find fault with: retention
// must not remove what somebody changed.
func (l *Log) Trim(ctx context.Context, chain string, before time.Time) (int64, error) {
	var total int64
	for {
		n, err := l.trimSome(ctx, chain, before)
		if err != nil {
			return total, fmt.Errorf("trim audit chain: %w", err)
		}
		total += n
		if n < trimRows {
			return total, nil
		}
	}
}

func (l *Log) trimSome(ctx context.Context, chain string, before time.Time) (n int64, err error) {
	err = l.db.Write(ctx, func(tx *sqldb.Tx) error {
		n = 0
		w, err := l.lockChain(tx, chain)
		if err != nil {
			return err
		}
		old, err := oldRows(tx, chain, before)
		if err != nil || len(old) == 0 {
			return err
		}
		for _, r := range old {
			if f := w.step(r); f != nil {
				return f
			}
		}
		if err := l.putAnchor(tx, w.last); err != nil {
			return err
		}
		n, err = tx.Exec(`DELETE FROM audit_events WHERE chain = $1 AND seq <= $2`, chain, w.last.seq)
		return err
	})
	return n, err
}

// lockChain locks the head of a chain and begins a walk at its anchor.
func (l *Log) lockChain(tx *sqldb.Tx, chain string) (*walk, error) {
	if _, err := headOf(tx, chain); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	a, err := anchorOf(tx, chain)
	if err != nil {
		return nil, err
	}
	w := newWalk(chain)
	if a != nil {
		if f := w.start(*a, l.PublicKey()); f != nil {
			return nil, f
		}
	}
	return w, nil
}

// oldRows are the first rows of a chain up to one that is young.
func oldRows(tx *sqldb.Tx, chain string, before time.Time) ([]*row, error) {
	list, err := sqldb.Collect(tx, scanRow, chainRows, chain, int64(-1<<62), trimRows)
	for i, r := range list {
		if r.at >= before.UnixMilli() {
			return list[:i], err
		}
	}
	return list, err
}

func (l *Log) putAnchor(tx *sqldb.Tx, h head) error {
	a := anchor{head: h, at: l.config.Now()}
	a.signature = ed25519.Sign(l.private, a.canonical())
	_, err := tx.Exec(`INSERT INTO audit_anchors (chain, seq, hash, at, signature) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at, signature = excluded.signature`,
		a.chain, a.seq, a.hash, a.at.UnixMilli(), a.signature)
	return err
}

// anchorOf is nil where nothing was deleted.
func anchorOf(tx *sqldb.Tx, chain string) (*anchor, error) {
	a := anchor{head: head{chain: chain}}
	var at int64
	err := tx.QueryRow(`SELECT seq, hash, at, signature FROM audit_anchors WHERE chain = $1`, chain).
		Scan(&a.seq, &a.hash, &at, &a.signature)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	a.at = time.UnixMilli(at).UTC()
	return &a, err
}
