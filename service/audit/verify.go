package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// verifyRows is how many rows are read at once.
const verifyRows = 1000

// Verify looks through the whole log and this node's checkpoints. What it finds is in the report; the error says that it
// could not look.
func (l *Log) Verify(ctx context.Context) (Report, error) {
	var files []string
	if l.sink.folder != "" {
		files = append(files, l.sink.path())
	}
	return Verify(ctx, l.db, l.PublicKey(), files...)
}

// Verify looks through all chains of a database, and through the files of checkpoints signed by key: those of every node,
// where there are several. It finds the event that was edited, deleted, inserted or moved; what was cut off the end of a
// chain, a chain that vanished and one that was written anew it finds by checkpoints alone. A file that is not there has
// no checkpoints. The log may be written to meanwhile.
func Verify(ctx context.Context, db *sqldb.DB, key ed25519.PublicKey, files ...string) (Report, error) {
	if len(key) != ed25519.PublicKeySize {
		return Report{}, errors.New("verify audit log: the key is not an Ed25519 public key")
	}
	v := &verifier{db: db, key: key, chains: map[string]Fault{}, report: Report{Faults: []Fault{}}}
	// Files first: what a checkpoint names was in the database before it.
	for _, file := range files {
		if err := v.file(ctx, file); err != nil {
			return Report{}, fmt.Errorf("verify checkpoints: %w", err)
		}
	}
	if err := v.all(ctx); err != nil {
		return Report{}, fmt.Errorf("verify audit log: %w", err)
	}
	for _, chain := range slices.Sorted(maps.Keys(v.chains)) {
		v.report.Faults = append(v.report.Faults, v.chains[chain])
	}
	v.report.Note = v.report.note()
	return v.report, nil
}

// verifier gathers a report.
type verifier struct {
	db     *sqldb.DB
	key    ed25519.PublicKey
	report Report
	chains map[string]Fault // the first of each chain
}

// blame keeps the fault that comes first in its chain.
func (v *verifier) blame(f *Fault) {
	if f == nil {
		return
	}
	if known, ok := v.chains[f.Chain]; !ok || f.Seq < known.Seq {
		v.chains[f.Chain] = *f
	}
}

// all follows the chains that any table knows.
func (v *verifier) all(ctx context.Context) error {
	names, err := sqldb.ReadAll(ctx, v.db, sqldb.Column[string],
		`SELECT chain FROM audit_heads UNION SELECT DISTINCT chain FROM audit_events UNION SELECT chain FROM audit_anchors`)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := v.chain(ctx, name); err != nil {
			return err
		}
	}
	v.report.Chains = len(names)
	return nil
}

// chain follows one chain from its anchor, or its beginning, to its head.
func (v *verifier) chain(ctx context.Context, name string) error {
	w, after := newWalk(name), int64(-1<<62)
	for {
		p, err := v.part(ctx, name, after)
		if err != nil {
			return err
		}
		if p.anchor != nil && p.anchor.seq > w.last.seq {
			if f := w.start(*p.anchor, v.key); f != nil {
				v.blame(f)
				return nil
			}
		}
		for _, r := range p.rows {
			if f := w.step(r); f != nil {
				v.blame(f)
				return nil
			}
			v.report.Events++
		}
		if len(p.rows) < verifyRows {
			v.blame(w.end(p.head))
			return nil
		}
		after = w.last.seq
	}
}

// part is some rows of a chain, and its ends as they were when the rows were read.
type part struct {
	anchor *anchor
	head   *head
	rows   []*row
}

func (v *verifier) part(ctx context.Context, chain string, after int64) (part, error) {
	return sqldb.Snapshot(ctx, v.db, func(tx *sqldb.Tx) (p part, err error) {
		if p.anchor, err = anchorOf(tx, chain); err != nil {
			return p, err
		}
		h, found, err := headOf(tx, chain, "")
		if err != nil {
			return p, err
		}
		if found {
			p.head = &h
		}
		p.rows, err = sqldb.Collect(tx, scanRow, chainRows, chain, after, verifyRows)
		return p, err
	})
}
