// Package redact keeps secrets out of what leaves the process: log lines, the bodies of errors, the events of runs. It looks for
// values that it was told of, and for what says of itself that it is a credential. It is never complete: it is the net below the
// rule that no secret is printed.
package redact

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"sync"
)

// Placeholder stands where something was redacted.
const Placeholder = "[redacted]"

const (
	// shortest is the length of the shortest value that is looked for; below it ordinary words would be redacted.
	shortest = 8
	// manyForms is how many forms are learned, some 17 for every 64 bytes of a value, before the older half is forgotten.
	manyForms = 1 << 16
	gateBits  = 19
)

// Redactor knows values by their hashes alone: whoever told it of one may clear it. It is safe for concurrent use.
type Redactor struct {
	seed maphash.Seed
	mix  uint64 // odd, so that every bit counts
	many int

	mu    sync.RWMutex
	older *known // nil while little is known
	newer *known
}

// known is what to look for.
type known struct {
	gate   [1 << gateBits / 64]uint64 // most questions end here
	heads  map[uint64]uint64          // by the hash of a form's first 8 bytes, how long such forms are: a bit for each length
	forms  map[uint64]bool            // by the hash of a form, whether it is base64
	values map[uint64]bool            // by the hash of a value
}

// New is a Redactor that knows no value yet.
func New() *Redactor {
	return &Redactor{seed: maphash.MakeSeed(), mix: rand.Uint64() | 1, many: manyForms, newer: newKnown()}
}

func newKnown() *known {
	return &known{heads: map[uint64]uint64{}, forms: map[uint64]bool{}, values: map[uint64]bool{}}
}

// Add makes a value known; of a JSON document the texts in it too. Values below 8 bytes are not looked for. One that was not
// added for long is forgotten when there are many.
func (r *Redactor) Add(value []byte) {
	key := r.hash(value)
	if len(value) < shortest || r.knows(key) {
		return
	}
	// Encoded outside of the lock: it may take milliseconds.
	fresh := formsOf(value)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.newer.forms) >= r.many {
		r.older, r.newer = r.newer, newKnown()
	}
	r.newer.values[key] = true
	for _, f := range fresh {
		text := []byte(f.text)
		i, bit := r.gate(text)
		r.newer.gate[i] |= bit
		r.newer.heads[r.hash(text[:shortest])] |= 1 << (len(text) - 1)
		whole := r.hash(text)
		r.newer.forms[whole] = r.newer.forms[whole] || f.base64
	}
}

func (r *Redactor) knows(key uint64) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.newer.values[key]
}

func (r *Redactor) hash(b []byte) uint64 { return maphash.Bytes(r.seed, b) }

// gate is which bit of the gate stands for texts that begin with these 8 bytes.
func (r *Redactor) gate(text []byte) (i int, bit uint64) {
	at := (binary.LittleEndian.Uint64(text) * r.mix) >> (64 - gateBits)
	return int(at / 64), 1 << (at % 64)
}
