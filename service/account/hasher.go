package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
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
	p := phc{cost: h.cost}
	_, _ = rand.Read(p.salt[:]) // never fails
	hash, err := h.run(ctx, password, p.salt[:], p.cost)
	copy(p.hash[:], hash)
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
	return fault.New(fault.Busy, "Too many sign-ins at this moment.", "Try again shortly.").After(2 * time.Second)
}

// Scrypt is the cost of deriving a password: N = 2^LogN, block size R, parallelism P.
type Scrypt struct {
	LogN, R, P int
}

// bytes is the memory that deriving takes.
func (s Scrypt) bytes() int64 { return int64(128*s.R) * int64(1<<s.LogN+s.P) }

// DefaultScrypt is one of five settings that are equally strong, with the memory that a small machine has.
var DefaultScrypt = Scrypt{LogN: 15, R: 8, P: 3}

const (
	saltSize = 16
	hashSize = 32
)

// strong are the settings that nothing may be weaker than all of.
var strong = []Scrypt{{17, 8, 1}, {16, 8, 2}, {15, 8, 3}, {14, 8, 5}, {13, 8, 10}}

// ParseScrypt reads ln=15,r=8,p=3, and refuses what is weaker than every accepted setting.
func ParseScrypt(text string) (Scrypt, error) {
	s, err := parseScrypt(text)
	if err != nil {
		return s, err
	}
	for _, least := range strong {
		if s.LogN >= least.LogN && s.R >= least.R && s.P >= least.P {
			return s, nil
		}
	}
	return s, fmt.Errorf("%q is weaker than ln=17,r=8,p=1, ln=16,r=8,p=2, ln=15,r=8,p=3, ln=14,r=8,p=5 and ln=13,r=8,p=10", text)
}

func (s Scrypt) String() string { return fmt.Sprintf("ln=%d,r=%d,p=%d", s.LogN, s.R, s.P) }

var errScrypt = errors.New("is not of the form ln=15,r=8,p=3 with 10 to 20, 1 to 16, 1 to 16")

func parseScrypt(text string) (Scrypt, error) {
	var s Scrypt
	_, err := fmt.Sscanf(text, "ln=%d,r=%d,p=%d", &s.LogN, &s.R, &s.P)
	within := 10 <= s.LogN && s.LogN <= 20 && 1 <= s.R && s.R <= 16 && 1 <= s.P && s.P <= 16
	if err != nil || !within || s.String() != text { // there is one spelling
		return Scrypt{}, errScrypt
	}
	return s, nil
}

// phc is a derived password as it is stored: $scrypt$ln=15,r=8,p=3$<salt>$<hash>.
type phc struct {
	cost Scrypt
	salt [saltSize]byte
	hash [hashSize]byte
}

var errPHC = errors.New("not a derived password")

// unpadded is base64 that has one spelling for each value.
var unpadded = base64.RawStdEncoding.Strict()

// parsePHC reads strictly: what was planted must neither panic nor choose how much is allocated.
func parsePHC(text string) (phc, error) {
	var p phc
	parts := strings.Split(text, "$")
	if len(parts) != 5 || parts[0] != "" || parts[1] != "scrypt" {
		return p, errPHC
	}
	cost, err := parseScrypt(parts[2])
	p.cost = cost
	if err != nil || !decodeExactly(p.salt[:], parts[3]) || !decodeExactly(p.hash[:], parts[4]) {
		return phc{}, errPHC
	}
	return p, nil
}

func decodeExactly(into []byte, text string) bool {
	if len(text) != unpadded.EncodedLen(len(into)) || strings.ContainsAny(text, "\r\n") {
		return false
	}
	n, err := unpadded.Decode(into, []byte(text))
	return err == nil && n == len(into)
}

func (p phc) String() string {
	return "$scrypt$" + p.cost.String() + "$" + unpadded.EncodeToString(p.salt[:]) + "$" + unpadded.EncodeToString(p.hash[:])
}
