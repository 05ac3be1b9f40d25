package secret

import (
	"container/list"
	"hash/maphash"
	"slices"
	"sync"
)

const (
	// shortest is the length of the shortest value that is looked for; below it ordinary words would be redacted.
	shortest     = 8
	defaultForms = 1 << 17
	gateBits     = 1 << 19
)

// Scrubber removes known values, and whatever looks like a credential, from texts that leave the process: log lines,
// error bodies, events. It finds a value as it is, in base64 at any alignment, base64url, hex, decimal bytes, and all of
// these escaped as in JSON, Go and URLs, also twice. It is safe for concurrent use.
//
// It keeps hashes of what it looks for and never the values. Redaction is never complete: it is the net below the rule
// that no secret is printed.
type Scrubber struct {
	seed  maphash.Seed
	limit int

	mu     sync.RWMutex
	gate   [gateBits / 64]uint64    // of all hashes below, and some that are gone: most questions end here
	heads  map[uint64][]length      // by the hash of a form's first 8 bytes, how long such forms are
	marks  map[uint64]mark          // by the hash of the whole form
	values map[uint64]*list.Element // of *remembered, by the hash of the value
	order  *list.List               // the longest unseen first
	forms  int
	stale  int // forms gone since the gate was made
}

type length struct{ bytes, refs int }

type mark struct {
	refs        int
	left, right bool
}

// remembered is one value, as it can be forgotten again.
type remembered struct {
	value uint64
	forms []hashed
}

type hashed struct {
	head, whole uint64
	bytes       int
}

// NewScrubber makes one that remembers so many encodings, some 12 for every 64 bytes of a value, and forgets the value
// that was added longest ago when there are more. The limit 0 is 131,072, some 15 MB.
func NewScrubber(limit int) *Scrubber {
	if limit <= 0 {
		limit = defaultForms
	}
	return &Scrubber{
		seed: maphash.MakeSeed(), limit: limit, order: list.New(),
		heads: map[uint64][]length{}, marks: map[uint64]mark{}, values: map[uint64]*list.Element{},
	}
}

// Add makes the scrubber look for a value, for each of its lines, and for the texts in it if it is JSON. Values below 8
// bytes are not looked for. To add twice is to add once.
func (s *Scrubber) Add(value []byte) {
	if len(value) < shortest {
		return
	}
	key := s.hash(value)
	if s.refresh(key) {
		return
	}
	// Encoded outside of the lock: it may take milliseconds.
	all := formsOf(value, s.limit/2)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[key] != nil {
		return
	}
	r := &remembered{value: key}
	for _, f := range all {
		r.forms = append(r.forms, s.insert(f))
	}
	s.values[key] = s.order.PushBack(r)
	for s.forms > s.limit && s.order.Len() > 1 {
		s.forget(s.order.Front())
	}
}

// Remove makes the scrubber forget a value.
func (s *Scrubber) Remove(value []byte) {
	key := s.hash(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.values[key]; e != nil {
		s.forget(e)
	}
}

func (s *Scrubber) refresh(key uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.values[key]
	if e != nil {
		s.order.MoveToBack(e)
	}
	return e != nil
}

func (s *Scrubber) insert(f form) hashed {
	h := hashed{head: s.hash(f.text[:shortest]), whole: s.hash(f.text), bytes: len(f.text)}
	m := s.marks[h.whole]
	s.marks[h.whole] = mark{refs: m.refs + 1, left: m.left || f.left, right: m.right || f.right}
	lengths := s.heads[h.head]
	if i := slices.IndexFunc(lengths, func(l length) bool { return l.bytes == h.bytes }); i >= 0 {
		lengths[i].refs++
	} else {
		s.heads[h.head] = append(lengths, length{h.bytes, 1})
	}
	s.open(h.head)
	s.open(h.whole)
	s.forms++
	return h
}

func (s *Scrubber) forget(e *list.Element) {
	r := s.order.Remove(e).(*remembered)
	delete(s.values, r.value)
	for _, h := range r.forms {
		if m := s.marks[h.whole]; m.refs > 1 {
			m.refs--
			s.marks[h.whole] = m
		} else {
			delete(s.marks, h.whole)
		}
		s.shorten(h)
	}
	s.forms -= len(r.forms)
	if s.stale += len(r.forms); s.stale > s.forms+1000 {
		s.regate()
	}
}

func (s *Scrubber) shorten(h hashed) {
	lengths := s.heads[h.head]
	i := slices.IndexFunc(lengths, func(l length) bool { return l.bytes == h.bytes })
	if lengths[i].refs--; lengths[i].refs == 0 {
		lengths = slices.Delete(lengths, i, i+1)
	}
	s.heads[h.head] = lengths
	if len(lengths) == 0 {
		delete(s.heads, h.head)
	}
}

func (s *Scrubber) open(hash uint64) {
	bit := hash % gateBits
	s.gate[bit/64] |= 1 << (bit % 64)
}

func (s *Scrubber) closed(hash uint64) bool {
	bit := hash % gateBits
	return s.gate[bit/64]&(1<<(bit%64)) == 0
}

func (s *Scrubber) regate() {
	clear(s.gate[:])
	for head := range s.heads {
		s.open(head)
	}
	for whole := range s.marks {
		s.open(whole)
	}
	s.stale = 0
}

func (s *Scrubber) hash(b []byte) uint64 { return maphash.Bytes(s.seed, b) }
