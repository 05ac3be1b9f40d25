package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// head is the last event of a chain, and seq 0 before the first.
type head struct {
	chain string
	seq   int64
	hash  []byte
}

// lockHead makes the head of a new chain. None is ever deleted, so the second look finds one.
func lockHead(tx *sqldb.Tx, chain string) (head, error) {
	h, found, err := headOf(tx, chain, tx.ForUpdate())
	if found || err != nil {
		return h, err
	}
	if err := tx.Do("make head", `INSERT INTO audit_heads (chain, seq, hash) VALUES ($1, 0, $2) ON CONFLICT (chain) DO NOTHING`, chain, genesis); err != nil {
		return head{}, err
	}
	h, _, err = headOf(tx, chain, tx.ForUpdate())
	return h, err
}

func headOf(tx *sqldb.Tx, chain, lock string) (h head, found bool, err error) {
	return sqldb.First(tx, "find head", scanHead, `SELECT chain, seq, hash FROM audit_heads WHERE chain = $1`+lock, chain)
}

func (h head) canonical() []byte {
	var o object
	o.text("chain", h.chain)
	o.bytes("hash", h.hash)
	o.number("seq", h.seq)
	return o.end()
}

// rootOf is the hash of heads that are ordered by chain.
func rootOf(heads []head) []byte {
	sum := sha256.New()
	for _, h := range heads {
		sum.Write(append(h.canonical(), '\n'))
	}
	return sum.Sum(nil)
}

func index(heads []head) map[string]head {
	byChain := make(map[string]head, len(heads))
	for _, h := range heads {
		byChain[h.chain] = h
	}
	return byChain
}

// changed are the heads that are not as they were. One that is gone from the database is not among them: it is found by
// the root, which no longer covers it.
func changed(was map[string]head, heads []head) []head {
	var list []head
	for _, h := range heads {
		if old, ok := was[h.chain]; !ok || old.seq != h.seq || !bytes.Equal(old.hash, h.hash) {
			list = append(list, h)
		}
	}
	return list
}

// readHeads gives the heads of one moment, ordered by chain.
func readHeads(ctx context.Context, db *sqldb.DB) ([]head, error) {
	list, err := sqldb.ReadAll(ctx, db, scanHead, `SELECT chain, seq, hash FROM audit_heads`)
	slices.SortFunc(list, func(a, b head) int { return cmp.Compare(a.chain, b.chain) })
	return list, err
}

func scanHead(row sqldb.Row) (h head, err error) {
	err = row.Scan(&h.chain, &h.seq, &h.hash)
	return h, err
}
