package audit

import (
	"bytes"
	"crypto/ed25519"
)

// walk follows a chain, row by row, and stops at the first that does not follow.
type walk struct{ last head }

func newWalk(chain string) *walk { return &walk{last: head{chain: chain, hash: genesis}} }

// start begins behind what was deleted.
func (w *walk) start(a anchor, key ed25519.PublicKey) *Fault {
	if !a.holds(key) {
		return w.fault(1, "the anchor of what was deleted is not signed by this log")
	}
	w.last = a.head
	return nil
}

// step goes on to the next row, or says what is wrong with it.
func (w *walk) step(r *row) *Fault {
	e, ok := r.read()
	switch want := w.last.seq + 1; {
	case e.Seq > want:
		return w.fault(want, "it is missing")
	case e.Seq < want:
		return w.fault(e.Seq, "it stands before the beginning of the chain")
	case !bytes.Equal(e.PrevHash, w.last.hash):
		return w.fault(e.Seq, "it does not follow the one before")
	case !ok || !bytes.Equal(e.sum(), e.Hash):
		return w.fault(e.Seq, "it is not as it was written")
	}
	w.last.seq, w.last.hash = e.Seq, e.Hash
	return nil
}

// end compares the end of the chain with its head; nil is one that is gone.
func (w *walk) end(h *head) *Fault {
	switch {
	case h == nil:
		return w.fault(w.last.seq, "the head of the chain is missing")
	case h.seq > w.last.seq:
		return w.fault(w.last.seq+1, "it is missing")
	case h.seq < w.last.seq:
		return w.fault(h.seq+1, "it stands behind the head of the chain")
	case !bytes.Equal(h.hash, w.last.hash):
		return w.fault(h.seq, "it is not what the head of the chain says")
	}
	return nil
}

func (w *walk) fault(seq int64, reason string) *Fault {
	return &Fault{Chain: w.last.chain, Seq: seq, Reason: reason}
}
