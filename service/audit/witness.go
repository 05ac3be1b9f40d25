package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// witness is a file of checkpoints that is read from its first line to its last.
type witness struct {
	file  string
	line  int
	prev  []byte          // the hash of the line before
	heads map[string]head // as the lines so far say; nil: not known until a full one
	last  checkpoint      // the one that heads are as of
}

// file holds the database against a file of checkpoints.
func (v *verifier) file(ctx context.Context, path string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	w := &witness{file: path}
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			v.settle(w) // a last line without its end is none
			return nil
		}
		if err != nil {
			return err
		}
		if err := v.line(ctx, w, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
	}
}

// line holds the database against one checkpoint.
func (v *verifier) line(ctx context.Context, w *witness, line []byte) error {
	w.line++
	prev := w.prev
	w.prev = hashLine(line)
	c, err := parseCheckpoint(line, v.key)
	if err != nil {
		w.heads = nil
		v.doubt(w, err.Error())
		return nil
	}
	// The first line may follow one that was moved elsewhere with its file.
	if w.line > 1 && !bytes.Equal(c.prev, prev) {
		w.heads = nil
		v.doubt(w, "it does not follow the line before")
	}
	v.follow(w, c)
	v.report.Checkpoints++
	if c.at.After(v.report.Last) {
		v.report.Last = c.at
	}
	return v.compare(ctx, c)
}

func (v *verifier) doubt(w *witness, reason string) {
	v.report.Faults = append(v.report.Faults, Fault{File: w.file, Line: w.line, Reason: reason})
}

// follow keeps the heads that a checkpoint stands for.
func (v *verifier) follow(w *witness, c checkpoint) {
	if c.full {
		v.settle(w)
		w.heads = map[string]head{}
	}
	if w.heads == nil {
		return
	}
	for _, h := range c.heads {
		w.heads[h.chain] = h
	}
	w.last = c
}

// settle looks whether the last checkpoint before a full one covers all heads that were named since the full one before:
// a chain that vanished stays so, and the root of each line would cost as much as all chains.
func (v *verifier) settle(w *witness) {
	if w.heads == nil {
		return
	}
	heads := slices.SortedFunc(maps.Values(w.heads), func(a, b head) int { return cmp.Compare(a.chain, b.chain) })
	if int64(len(heads)) != w.last.chains || !bytes.Equal(rootOf(heads), w.last.root) {
		v.doubt(w, "up to here a checkpoint does not cover the heads of those before: a chain vanished")
	}
}

// compare looks up each head that a checkpoint names.
func (v *verifier) compare(ctx context.Context, c checkpoint) error {
	for some := range slices.Chunk(c.heads, verifyRows) {
		faults, err := sqldb.Snapshot(ctx, v.db, func(tx *sqldb.Tx) (all []*Fault, err error) {
			for _, h := range some {
				f, err := v.lookUp(tx, h)
				if err != nil {
					return nil, err
				}
				all = append(all, f)
			}
			return all, nil
		})
		if err != nil {
			return err
		}
		for _, f := range faults {
			v.blame(f)
		}
	}
	return nil
}

// lookUp finds the event that a checkpoint names as a head, unless retention has deleted it.
func (v *verifier) lookUp(tx *sqldb.Tx, h head) (*Fault, error) {
	if h.seq == 0 {
		return nil, nil
	}
	hash, found, err := sqldb.First(tx, "find event", sqldb.Column[[]byte], `SELECT hash FROM audit_events WHERE chain = $1 AND seq = $2`, h.chain, h.seq)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return v.lookFor(tx, h)
	case !bytes.Equal(hash, h.hash):
		return &Fault{Chain: h.chain, Seq: h.seq, Reason: "it is not the one that a checkpoint has signed: it, or one before it, was written anew"}, nil
	}
	return nil, nil
}

// lookFor explains why the event of a checkpoint is not there.
func (v *verifier) lookFor(tx *sqldb.Tx, h head) (*Fault, error) {
	a, err := anchorOf(tx, h.chain)
	if err != nil {
		return nil, err
	}
	if a != nil && a.seq >= h.seq && a.holds(v.key) {
		if a.seq == h.seq && !bytes.Equal(a.hash, h.hash) {
			return &Fault{Chain: h.chain, Seq: h.seq, Reason: "it is not the one that a checkpoint has signed"}, nil
		}
		return nil, nil
	}
	last, err := sqldb.Value[int64](tx, "find last event", `SELECT COALESCE(max(seq), 0) FROM audit_events WHERE chain = $1 AND seq < $2`, h.chain, h.seq)
	if err != nil {
		return nil, err
	}
	if a != nil {
		last = max(last, a.seq)
	}
	if last == 0 {
		return &Fault{Chain: h.chain, Seq: 1, Reason: "the chain vanished: a checkpoint has signed its head"}, nil
	}
	return &Fault{Chain: h.chain, Seq: last + 1, Reason: "it is missing: a checkpoint has signed it or one after it"}, nil
}
