package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// genesis is what the first event of a chain follows.
var genesis = make([]byte, sha256.Size)

// Append writes events in the transaction of their act: they stand together or not at all. The context gives the Source
// and nothing else. An error must fail the transaction.
//
// The heads of the chains are locked until the transaction ends, those of one call in order. Append is therefore the last
// thing an act does, and called once: two acts that lock two chains in turn wait for each other.
func (l *Log) Append(ctx context.Context, tx *sqldb.Tx, events ...Event) error {
	list := make([]Event, len(events))
	for i, e := range events {
		var err error
		if list[i], err = l.resolve(ctx, e); err != nil {
			return err
		}
	}
	return l.append(tx, list)
}

// append writes events that are resolved.
func (l *Log) append(tx *sqldb.Tx, events []Event) error {
	chains := byChain(events)
	for _, chain := range slices.Sorted(maps.Keys(chains)) {
		if err := extend(tx, chain, chains[chain]); err != nil {
			return fmt.Errorf("append audit event: %w", err)
		}
		l.noteAppended(len(chains[chain]))
	}
	return nil
}

func byChain(events []Event) map[string][]Event {
	chains := map[string][]Event{}
	for _, e := range events {
		chains[e.Scope] = append(chains[e.Scope], e)
		if e.Service && e.Scope != "" {
			chains[""] = append(chains[""], e)
		}
	}
	return chains
}

// noteAppended may count an append that is undone or done again: then a checkpoint comes early.
func (l *Log) noteAppended(n int) {
	if l.appended.Add(int64(n)) < checkpointRows {
		return
	}
	select {
	case l.due <- struct{}{}:
	default:
	}
}

// extend adds events to one chain.
func extend(tx *sqldb.Tx, chain string, events []Event) error {
	h, err := lockHead(tx, chain)
	if err != nil {
		return err
	}
	for _, e := range events {
		e.Chain, e.Seq, e.PrevHash = chain, h.seq+1, h.hash
		e.Hash = e.sum()
		if err := tx.Do("insert event", insert, rowOf(e).values()...); err != nil {
			return err
		}
		h.seq, h.hash = e.Seq, e.Hash
	}
	return tx.Do("move head", `UPDATE audit_heads SET seq = $2, hash = $3 WHERE chain = $1`, chain, h.seq, h.hash)
}

// sum is the hash that the event must have.
func (e Event) sum() []byte {
	sum := sha256.Sum256(append(slices.Clone(e.PrevHash), e.canonical(false)...))
	return sum[:]
}
