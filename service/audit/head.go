package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
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
	h, err := headOf(tx, chain)
	if !errors.Is(err, sql.ErrNoRows) {
		return h, err
	}
	_, err = tx.Exec(`INSERT INTO audit_heads (chain, seq, hash) VALUES ($1, 0, $2) ON CONFLICT (chain) DO NOTHING`, chain, genesis)
	if err != nil {
		return head{}, err
	}
	return headOf(tx, chain)
}

func headOf(tx *sqldb.Tx, chain string) (head, error) {
	h := head{chain: chain}
	query := `SELECT seq, hash FROM audit_heads WHERE chain = $1` + tx.ForUpdate()
	err := tx.QueryRow(query, chain).Scan(&h.seq, &h.hash)
	return h, err
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
func readHeads(ctx context.Context, db *sqldb.DB) (list []head, err error) {
	err = db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		list, err = sqldb.Collect(tx, scanHead, `SELECT chain, seq, hash FROM audit_heads`)
		return err
	})
	slices.SortFunc(list, func(a, b head) int { return cmp.Compare(a.chain, b.chain) })
	return list, err
}

func scanHead(row sqldb.Row) (h head, err error) {
	err = row.Scan(&h.chain, &h.seq, &h.hash)
	return h, err
}
