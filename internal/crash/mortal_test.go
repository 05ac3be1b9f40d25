package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"svc.dev/svc"
)

// trap ends the process at the Nth call of a writing verb from now on. The zero trap never does.
type trap struct {
	Verb  string
	N     int
	After bool // once the call has returned: durable, and nobody was told
}

func (t trap) String() string {
	when := "before"
	if t.After {
		when = "after"
	}
	return fmt.Sprintf("%s %s %d", when, t.Verb, t.N)
}

// interrupts reports whether whoever dies in the trap holds the stream.
func (t trap) interrupts() bool { return t.Verb == onAppend || t.Verb == onRelease && !t.After }

// The verbs a trap can be set on. A claim counts only where it gave leases.
const (
	onAdmit   = "admit"
	onAppend  = "append"
	onRelease = "release"
	onClaim   = "claim"
	onAbort   = "abort"
)

// stats are the writing calls of a node that were answered.
type stats struct {
	Appends  int
	Releases int
	Fenced   int // of them, refused as stale
}

// mortal is a Store whose process can die at any of its writing verbs.
type mortal struct {
	svc.Store
	late time.Duration // see setup
	torn func()        // told of an end that is on record apart from what it ends

	mu     sync.Mutex
	trap   trap
	calls  int
	doomed bool // it dies as soon as a call returns
	stats  stats

	claims sync.RWMutex // held by those that claim, and by the doomed
}

func (m *mortal) arm(t trap) {
	m.lock()
	defer m.mu.Unlock()
	m.trap, m.calls = t, 0
}

// lock never returns to a process that is about to die: however late that is, nothing more is written or answered.
func (m *mortal) lock() {
	m.mu.Lock()
	if m.doomed {
		m.mu.Unlock()
		select {}
	}
}

func (m *mortal) count() stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// begin counts a call and dies before it if that is the one. The func it returns dies after it.
func (m *mortal) begin(verb string) (end func()) {
	if !m.springs(verb) {
		return func() {}
	}
	m.claims.Lock() // what a call lets go of is for the next process
	return die
}

// springs reports whether the process dies after this call. One that dies before it does so here.
func (m *mortal) springs(verb string) bool {
	m.lock()
	defer m.mu.Unlock()
	if m.trap.Verb != verb {
		return false
	}
	m.calls++
	if m.calls != m.trap.N {
		return false
	}
	if !m.trap.After {
		die()
	}
	m.doomed = true
	return true
}

// die is the end of this process as nothing in it can see it coming.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (m *mortal) answered(fenced error, count *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*count++
	if errors.Is(fenced, svc.ErrFenced) {
		m.stats.Fenced++
	}
}

func (m *mortal) Admit(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	defer m.begin(onAdmit)()
	return m.Store.Admit(ctx, a)
}

func (m *mortal) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	defer m.begin(onAppend)()
	ends := bytes.Contains(c.Data, []byte(`"type":"submission_settled"`)) || bytes.Contains(c.Data, []byte(`"type":"run_end"`))
	if ends != (c.Settle != "") {
		m.torn()
	}
	appended, err := m.Store.Append(ctx, l, c)
	m.answered(err, &m.stats.Appends)
	return appended, err
}

func (m *mortal) Release(ctx context.Context, l svc.Lease, r svc.Release) error {
	defer m.begin(onRelease)()
	err := m.Store.Release(ctx, l, r)
	m.answered(err, &m.stats.Releases)
	return err
}

func (m *mortal) Abort(ctx context.Context, s svc.Stream, submission string) (bool, error) {
	defer m.begin(onAbort)()
	return m.Store.Abort(ctx, s, submission)
}

func (m *mortal) Claim(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	m.claims.RLock()
	claimed, err := m.Store.Claim(ctx, o, n)
	m.claims.RUnlock()
	if len(claimed.Leases) > 0 {
		m.begin(onClaim)()
	}
	return claimed, err
}

// Tail tells what was true when it was asked, some time ago.
func (m *mortal) Tail(ctx context.Context, s svc.Stream) (svc.Tail, error) {
	tail, err := m.Store.Tail(ctx, s)
	if tail.Aborted {
		takes(m.late)
	}
	return tail, err
}

// Renew does, too.
func (m *mortal) Renew(ctx context.Context, o svc.Owner, held []svc.Lease) (svc.Renewed, error) {
	renewed, err := m.Store.Renew(ctx, o, held)
	if len(renewed.Aborted) > 0 {
		takes(m.late)
	}
	return renewed, err
}
