package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
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
	total, err := sqldb.Drain(ctx, l.db, trimRows, func(tx *sqldb.Tx) (int64, error) { return l.trimSome(tx, chain, before) })
	if err != nil {
		return total, fmt.Errorf("trim audit chain: %w", err)
	}
	return total, nil
}

// Sweep trims every chain to what is not older than before, and returns how many events that deleted. A chain that cannot be
// trimmed, because somebody changed it, keeps no other from it.
func (l *Log) Sweep(ctx context.Context, before time.Time) (total int64, err error) {
	chains, err := sqldb.ReadAll(ctx, l.db, sqldb.Column[string], `SELECT DISTINCT chain FROM audit_events WHERE at < $1`, before.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("find old audit chains: %w", err)
	}
	for _, chain := range chains {
		n, failed := l.Trim(ctx, chain, before)
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

func (l *Log) trimSome(tx *sqldb.Tx, chain string, before time.Time) (int64, error) {
	w, err := l.lockChain(tx, chain)
	if err != nil {
		return 0, err
	}
	old, err := oldRows(tx, chain, before)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	for _, r := range old {
		if f := w.step(r); f != nil {
			return 0, f
		}
	}
	if err := l.putAnchor(tx, w.last); err != nil {
		return 0, err
	}
	return tx.Exec(`DELETE FROM audit_events WHERE chain = $1 AND seq <= $2`, chain, w.last.seq)
}

// lockChain locks the head of a chain and begins a walk at its anchor.
func (l *Log) lockChain(tx *sqldb.Tx, chain string) (*walk, error) {
	if _, _, err := headOf(tx, chain, tx.ForUpdate()); err != nil {
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
	return tx.Do("leave anchor", `INSERT INTO audit_anchors (chain, seq, hash, at, signature) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at, signature = excluded.signature`,
		a.chain, a.seq, a.hash, a.at.UnixMilli(), a.signature)
}

// anchorOf is nil where nothing was deleted.
func anchorOf(tx *sqldb.Tx, chain string) (*anchor, error) {
	a, found, err := sqldb.First(tx, "find anchor", scanAnchor, `SELECT chain, seq, hash, at, signature FROM audit_anchors WHERE chain = $1`, chain)
	if !found {
		return nil, err
	}
	return &a, nil
}

func scanAnchor(row sqldb.Row) (a anchor, err error) {
	var at int64
	err = row.Scan(&a.chain, &a.seq, &a.hash, &at, &a.signature)
	a.at = time.UnixMilli(at).UTC()
	return a, err
}
