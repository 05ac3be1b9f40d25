package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/scrypt"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// Bounds of deriving: what runs at once is memory, what waits is time.
const (
	maxSlots   = 8
	maxWaiters = 16
	maxWait    = 5 * time.Second
)

// hasher derives passwords, few at once, for the sources of requests in turn, and for browsers that are known beside them. Whatever is asked of it, an attempt costs one
// derivation.
type hasher struct {
	cost    Scrypt
	memory  *memory.Budget
	dummy   phc // of a password nobody has
	turns   turns
	count   atomic.Int64
	derived func(Scrypt) // told of every derivation; tests listen
	log     *slog.Logger
}

// hashingOf is the part of the memory that deriving may take.
const hashingOf = 8

func newHasher(cost Scrypt, m *memory.Budget, log *slog.Logger) *hasher {
	h := &hasher{cost: cost, memory: m, dummy: phc{cost: cost}, derived: func(Scrypt) {}, log: log}
	slots := max(1, min(int64(runtime.GOMAXPROCS(0)-1), maxSlots, m.Limit()/hashingOf/cost.bytes()))
	h.turns = turns{slots: int(slots), waiters: maxWaiters, patience: maxWait}
	// Chance instead of a derivation: nobody has a password of this hash, and comparing with it costs what every other
	// comparison costs. A start that derived one would take the memory of one.
	_, _ = rand.Read(h.dummy.salt[:])
	_, _ = rand.Read(h.dummy.hash[:])
	return h
}

// hash derives a new password.
func (h *hasher) hash(ctx context.Context, as standing, password string) (string, error) {
	if err := h.turns.enter(ctx, as, site(ctx)); err != nil {
		return "", err
	}
	defer h.turns.leave()
	p, err := h.derive(ctx, password)
	return p.String(), err
}

// verify compares a password with what is stored, in constant time. Where nothing or nonsense is stored it works as long
// and says no. Stale says that the right password is stored at another cost than now.
func (h *hasher) verify(ctx context.Context, as standing, stored, password string) (right, stale bool, err error) {
	p, err := parsePHC(stored)
	known := err == nil
	if !known {
		if stored != "" {
			h.log.Error("stored password is damaged", "error", err)
		}
		p = h.dummy
	}
	if err := h.turns.enter(ctx, as, site(ctx)); err != nil {
		return false, false, err
	}
	defer h.turns.leave()
	got, err := h.run(ctx, password, p.salt[:], p.cost)
	if err != nil {
		return false, false, err
	}
	same := subtle.ConstantTimeCompare(got, p.hash[:]) == 1
	return same && known, p.cost != h.cost, nil
}

func (h *hasher) derive(ctx context.Context, password string) (phc, error) {
	p := phc{cost: h.cost}
	_, _ = rand.Read(p.salt[:]) // never fails
	hash, err := h.run(ctx, password, p.salt[:], p.cost)
	copy(p.hash[:], hash)
	return p, err
}

// run derives when there is memory for it. What others hold does not keep people out: it takes what is kept for small needs.
func (h *hasher) run(ctx context.Context, password string, salt []byte, cost Scrypt) ([]byte, error) {
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	room, err := h.memory.Wait(waiting, "", memory.Hashing, min(cost.bytes(), h.memory.Limit()))
	if err != nil {
		return nil, errBusy()
	}
	defer room.Release()
	h.count.Add(1)
	h.derived(cost)
	return scrypt.Key([]byte(password), salt, 1<<cost.LogN, cost.R, cost.P, hashSize)
}

func errBusy() error {
	return fault.New(Busy, "Too many sign-ins at this moment.", "Try again shortly.").After(2 * time.Second)
}
