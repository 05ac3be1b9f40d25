// Package storetest is the law of svc.Store, executable: five suites of sentences, each with its proof. A sentence is a
// method whose name says what is true.
package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/stream"
)

// Database is one database on which stores are opened, and the clock they share. It closes its stores when the test ends.
type Database interface {
	// Open gives a store on the database: another node where several are possible.
	Open(t testing.TB) svc.Store
	// Nodes reports whether several stores may be open at once. Where not, a second Open is a restart: it closes the first
	// store, and every lease of before is void.
	Nodes() bool
	// Advance moves the clock that the stores use.
	Advance(d time.Duration)
	// Now is what that clock shows.
	Now() time.Time
}

// Open gives a fresh, empty database with a clock that stands still.
type Open func(t testing.TB) Database

// Run proves every sentence of the law on databases of its own.
func Run(t *testing.T, open Open) {
	for suite, law := range map[string]any{
		"Log": logLaw{}, "Queue": queueLaw{}, "Lease": leaseLaw{}, "Index": indexLaw{}, "Blobs": blobsLaw{},
	} {
		t.Run(suite, func(t *testing.T) {
			for sentence, prove := range reflect.ValueOf(law).Methods() {
				t.Run(sentence.Name, func(t *testing.T) {
					t.Parallel()
					db := open(t)
					prove.Interface().(func(*scene))(&scene{T: t, db: db, store: db.Open(t)})
				})
			}
		})
	}
}

// scene is where a sentence is proved: a database and the store at hand.
type scene struct {
	*testing.T
	db    Database
	store svc.Store
}

// defaultLease is how long a lease of an owner that names no time lasts.
const defaultLease = 10 * time.Second

// patience is how long a wake may take before it counts as lost.
const patience = 20 * time.Second

// eventually waits until something is true.
func (s *scene) eventually(what string, ok func() bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not yet: %s", what)
		}
	}
}

// takeOver claims the one stream whose lease has lapsed.
func (s *scene) takeOver(node string) svc.Lease {
	s.Helper()
	s.lapse()
	return s.claim(node)
}

// lapse ends every lease as a crash would: its time passes, or where leases know no time the store restarts.
func (s *scene) lapse() {
	s.Helper()
	if s.db.Nodes() {
		s.db.Advance(defaultLease + time.Second)
		return
	}
	s.reopen()
}

// reopen goes on with another store on the same database.
func (s *scene) reopen() {
	s.Helper()
	s.store = s.db.Open(s.T)
}

// onlyNodes passes over what a database for one node cannot show.
func (s *scene) onlyNodes() {
	s.Helper()
	if !s.db.Nodes() {
		s.Skip("one node")
	}
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// sure is a value that must have come without an error.
func sure[T any](value T, err error) func(*scene) T {
	return func(s *scene) T {
		s.Helper()
		s.must(err)
		return value
	}
}

// errOf is the error of a call whose value does not matter.
func errOf[T any](_ T, err error) error { return err }

func (s *scene) refused(got, want error) {
	s.Helper()
	if !errors.Is(got, want) {
		s.Fatalf("error %v, want %v", got, want)
	}
}

func equal[T any](s *scene, what string, got, want T) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

// sameTime compares to the millisecond, which is as fine as the wire is.
func sameTime(s *scene, what string, got, want time.Time) {
	s.Helper()
	if got.UnixMilli() != want.UnixMilli() {
		s.Fatalf("%s: %v, want %v", what, got, want)
	}
}

const (
	scope    = "acme"
	agent    = "support"
	refund   = "refund"
	greeting = `{"text":"hello"}`
	opening  = "opening"
)

func conversation(id string) svc.Stream {
	return svc.Stream{Scope: scope, Kind: svc.KindAgent, Name: agent, ID: id}
}

// run is the stream of the nth run; run ids sort by n.
func run(n int) svc.Stream {
	return svc.Stream{Scope: scope, Kind: svc.KindRun, Name: refund, ID: fmt.Sprintf("run_%026d", n)}
}

func in(scope string, st svc.Stream) svc.Stream {
	st.Scope = scope
	return st
}

// talk is the conversation of most sentences, and there is one of the same name in another scope.
var (
	talk  = conversation("42")
	there = in("other", talk)
)

func prompt(st svc.Stream, submission string) svc.Admission {
	return svc.Admission{
		Stream: st, Submission: submission, Kind: svc.Direct, Input: []byte(greeting), Opening: []byte(opening),
	}
}

func invocation(st svc.Stream) svc.Admission {
	return svc.Admission{Stream: st, Submission: st.ID, Kind: svc.Invoked, Input: []byte(`{"order": 7}`), Run: true}
}

func keyed(a svc.Admission, name, hash string) svc.Admission {
	a.Key = &svc.Key{Name: name, Hash: []byte(hash)}
	return a
}

func wanting(a svc.Admission, o svc.Owner) svc.Admission {
	a.Owner = &o
	return a
}

func owner(node string) svc.Owner {
	return svc.Owner{Agents: true, Node: node, Boot: node + "-boot-1", Workflows: []string{refund}}
}

func batch(n int, data string, finished ...svc.Message) svc.Commit {
	return svc.Commit{N: n, Data: []byte(data), Messages: finished}
}

// settled is the commit that ends a submission and gives the lease back if nothing else waits.
func settled() svc.Commit {
	c := batch(1, "settled")
	c.Settle, c.Release = svc.OutcomeCompleted, true
	return c
}

// admit admits one after the other, and returns the receipt of the last.
func (s *scene) admit(all ...svc.Admission) (last svc.Receipt) {
	s.Helper()
	for _, a := range all {
		last = sure(s.store.Admit(s.Context(), a))(s)
	}
	return last
}

// hold admits and returns the first lease, which node one gets.
func (s *scene) hold(a svc.Admission) svc.Lease {
	s.Helper()
	r := s.admit(wanting(a, owner("one")))
	if r.Lease == nil {
		s.Fatalf("no lease on the idle stream %v", a.Stream)
	}
	return *r.Lease
}

func (s *scene) claimAs(o svc.Owner, n int) svc.Claimed {
	s.Helper()
	return sure(s.store.Claim(s.Context(), o, n))(s)
}

// claim takes the one stream that is claimable.
func (s *scene) claim(node string) svc.Lease {
	s.Helper()
	c := s.claimAs(owner(node), 10)
	if len(c.Leases) != 1 {
		s.Fatalf("%d leases claimed, want 1", len(c.Leases))
	}
	return c.Leases[0]
}

// claimNothing proves that nothing is claimable.
func (s *scene) claimNothing(node string) svc.Claimed {
	s.Helper()
	c := s.claimAs(owner(node), 10)
	if len(c.Leases) != 0 {
		s.Fatalf("claimed %+v, want nothing", c.Leases)
	}
	return c
}

func (s *scene) append(l svc.Lease, c svc.Commit) svc.Appended {
	s.Helper()
	return sure(s.store.Append(s.Context(), l, c))(s)
}

// fenced proves that a lease writes nothing any more, neither a batch nor a settlement, and cannot be given back.
func (s *scene) fenced(l svc.Lease) {
	s.Helper()
	s.refused(errOf(s.store.Append(s.Context(), l, batch(1, "stale"))), svc.ErrFenced)
	s.refused(errOf(s.store.Append(s.Context(), l, settled())), svc.ErrFenced)
	s.refused(s.store.Release(s.Context(), l, svc.Release{}), svc.ErrFenced)
}

func (s *scene) release(l svc.Lease, after time.Duration, reason string) {
	s.Helper()
	s.must(s.store.Release(s.Context(), l, svc.Release{After: after, Reason: reason}))
}

func (s *scene) abort(st svc.Stream, submission string) bool {
	s.Helper()
	return sure(s.store.Abort(s.Context(), st, submission))(s)
}

func (s *scene) tail(st svc.Stream) svc.Tail {
	s.Helper()
	return sure(s.store.Tail(s.Context(), st))(s)
}

func (s *scene) page(st svc.Stream, r svc.Range) svc.Page {
	s.Helper()
	return sure(s.store.Read(s.Context(), st, r))(s)
}

// everything is a range without a bound.
func everything() svc.Range {
	return svc.Range{After: svc.Position{Offset: stream.Start}, Through: stream.Tail}
}

// log is a stream's data, batch by batch.
func (s *scene) log(st svc.Stream) []string {
	s.Helper()
	return texts(s.page(st, everything()))
}

func texts(p svc.Page) []string {
	return each(p.Batches, func(b svc.Batch) string { return string(b.Data) })
}

// each is a list of what stands for each of all; of none it is nil.
func each[T, R any](all []T, of func(T) R) []R {
	var list []R
	for _, one := range all {
		list = append(list, of(one))
	}
	return list
}

func (s *scene) submissions(st svc.Stream) []svc.Submission {
	s.Helper()
	return sure(s.store.Submissions(s.Context(), st))(s)
}

// queue is the ids of a stream's unsettled work.
func (s *scene) queue(st svc.Stream) []string {
	s.Helper()
	return each(s.submissions(st), func(sub svc.Submission) string { return sub.ID })
}

// noStream proves that nothing of a stream can be found.
func (s *scene) noStream(st svc.Stream) {
	s.Helper()
	s.refused(errOf(s.store.Read(s.Context(), st, everything())), svc.ErrNoStream)
	s.refused(errOf(s.store.Tail(s.Context(), st)), svc.ErrNoStream)
	// An empty list and a refusal both say that no work is there.
	if subs, err := s.store.Submissions(s.Context(), st); len(subs) > 0 || err != nil && !errors.Is(err, svc.ErrNoStream) {
		s.Fatalf("submissions %+v, %v of a stream that is not there", subs, err)
	}
}

func (s *scene) watch(st svc.Stream, of svc.Watched) <-chan struct{} {
	s.Helper()
	wake, stop := s.store.Watch(svc.Topic{Stream: st, Of: of})
	s.Cleanup(stop)
	return wake
}

func (s *scene) woken(wake <-chan struct{}) {
	s.Helper()
	select {
	case <-wake:
	case <-time.After(patience):
		s.Fatal("no wake")
	}
}

// wakes proves that somebody who watches is woken by an act.
func (s *scene) wakes(st svc.Stream, of svc.Watched, act func()) {
	s.Helper()
	wake := s.watch(st, of)
	act()
	s.woken(wake)
}

// race does a thing n times at once and returns when all are done.
func race(n int, do func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	all.Wait()
}
