// Package svc runs workflows, and the conversations of agents, that survive anything. Declare them, admit work to them,
// follow what they write: every stream is kept in a Store, so a process that dies loses nothing that it had promised, and
// another goes on.
package svc

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"svc.dev/svc/internal/skew"
	"svc.dev/svc/memory"
	"svc.dev/svc/model"
	"svc.dev/svc/workflow"
)

// Config is what a Runtime is made of. Only Store is needed.
type Config struct {
	// Store keeps every stream.
	Store Store
	// Node names this node in its leases; kept across restarts it lets a restarted node go on at once. Defaults to a random
	// name.
	Node string
	// Workers is how many streams are worked on at once. Defaults to 1,024.
	Workers int
	// Lease is how long another node waits for this one to come back before it takes over a stream; it is renewed after
	// three tenths of it. Defaults to 10 seconds.
	Lease time.Duration
	// MaxAttempts is how often a run may be interrupted without progress before it ends errored. Defaults to 10.
	MaxAttempts int
	// Gather is how long events wait for company after a stream's last append. Defaults to 40 milliseconds.
	Gather time.Duration
	// Park is the longest wait that a run spends in memory; a longer one is given back to the store. Defaults to 10 seconds.
	Park time.Duration
	// StopTimeout is how long work in flight may take to come to a recorded point when Run is told to stop. Defaults to 30
	// seconds.
	StopTimeout time.Duration
	// Succeeded says that another Runtime of this process goes on with the Store when this one stops: callers that wait for a run go on
	// waiting. Defaults to false: they are told to ask elsewhere.
	Succeeded bool
	// Resolve finds agents that were not added in code; nil and no error is an agent that does not exist. An empty version
	// asks for the newest; work that began with a version which does not exist waits for it. A fault that it returns is what a
	// prompt fails with; any other error is no answer, and the prompt waits: until its time is over, or for a day if it has not begun.
	// Defaults to none.
	Resolve func(ctx context.Context, scope, name, version string) (*Agent, error)
	// Model finds the provider of a model's name, such as model.Providers.Find. It is asked before every turn; a fault that it
	// returns is what the prompt fails with, and while its error is ErrUnavailable the prompt waits. Defaults to none: every
	// prompt fails.
	Model func(ctx context.Context, scope, name string) (model.Provider, error)
	// ModelRetry is the pause before a failed model call is repeated; each further one is twice as long. Defaults to 2
	// seconds.
	ModelRetry time.Duration
	// Memory is the bytes that inputs, folded logs, images, answers and what is kept for later may take. Work beyond it waits.
	// Defaults to a quarter of the memory that the process may have.
	Memory *memory.Budget
	// Holder names on whose share of the memory a scope's streams draw. Defaults to the scope itself; the empty one may have
	// everything.
	Holder func(scope string) string
	// Redact takes out of the events of a run, and of its result and error, which are JSON, what must not leave the process.
	// Defaults to nothing.
	Redact func([]byte) []byte
	// Log hears what an operator should know. Defaults to slog.Default().
	Log *slog.Logger
	// Now is the node's clock. Times that are told or kept are the store's, so it may be wrong. Defaults to time.Now.
	Now func() time.Time
	// Random is where ids come from. Defaults to crypto/rand.
	Random io.Reader
}

// withDefaults takes what is negative for what was not said.
func (c Config) withDefaults() Config {
	c.Node = cmp.Or(c.Node, randomName("node_"))
	c.Workers = cmp.Or(max(c.Workers, 0), 1024)
	c.Lease = cmp.Or(max(c.Lease, 0), 10*time.Second)
	c.MaxAttempts = cmp.Or(max(c.MaxAttempts, 0), 10)
	c.Gather = cmp.Or(max(c.Gather, 0), 40*time.Millisecond)
	c.Park = cmp.Or(max(c.Park, 0), 10*time.Second)
	c.ModelRetry = cmp.Or(max(c.ModelRetry, 0), 2*time.Second)
	c.StopTimeout = cmp.Or(max(c.StopTimeout, 0), 30*time.Second)
	if c.Memory == nil {
		c.Memory = memory.New(0)
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Random = cmp.Or(c.Random, rand.Reader)
	return c
}

// Runtime is what was declared, and Run that does the work. Its own verbs are those of the empty scope.
type Runtime struct {
	Scoped

	config    Config
	store     Store
	workflows map[string]*Workflow
	agents    map[string]*Agent
	channels  map[string]*Channel

	ids      idSource
	clock    *skew.Clock
	crew     *crew
	rings    rings
	waiters  waiters
	states   states
	pages    *memory.Turns // of those who read, by holder
	rows     *memory.Turns // of those who read one that is longer than a page
	puts     *memory.Turns // of large bytes
	stopping chan struct{} // closed when Run begins to stop
	failed   chan struct{} // closed when the store can no longer be trusted

	began atomic.Bool // Run

	mu     sync.Mutex
	state  State
	stopBy time.Time // zero while it does not stop
}

// Scoped is every verb of a Runtime bound to one scope.
type Scoped struct {
	rt    *Runtime
	scope string
}

// State says whether a Runtime takes work.
type State string

// The states of a Runtime.
const (
	Serving  State = "serving"
	Draining State = "draining" // Run was told to stop, or has stopped
	Failed   State = "failed"   // the store can no longer be trusted
)

// New makes a Runtime. Nothing runs before Run is called, but work may be admitted and streams read.
func New(c Config) (*Runtime, error) {
	if c.Store == nil {
		return nil, errors.New("svc: Config.Store is missing")
	}
	c = c.withDefaults()
	rt := &Runtime{
		config: c, store: c.Store, state: Serving,
		workflows: map[string]*Workflow{}, agents: map[string]*Agent{}, channels: map[string]*Channel{},
		stopping: make(chan struct{}), failed: make(chan struct{}), clock: skew.New(c.Now),
		waiters: waiters{runs: map[string]chan workflow.Run{}},
		states:  states{budget: c.Memory, kept: map[Stream]*list.Element{}, going: map[Stream]chan struct{}{}},
		rings:   rings{store: c.Store, budget: c.Memory, all: map[Stream]*ring{}},
	}
	rt.Scoped = Scoped{rt: rt}
	rt.ids.entropy = ulid.Monotonic(c.Random, 0)
	rt.crew = newCrew(rt)
	rt.pages, rt.rows = memory.NewTurns(memory.Half(), 2*memory.Half()), memory.NewTurns(1, memory.Half())
	rt.puts = memory.NewTurns(memory.Half(), memory.Half())
	rt.rings.holder = rt.holder
	c.Memory.OnFull(rt.states.shed)
	c.Memory.OnFull(rt.rings.shed)
	return rt, nil
}

// AddWorkflow declares workflows, before Run. It panics for a name that is taken or could not stand in a path.
func (rt *Runtime) AddWorkflow(workflows ...*Workflow) {
	for _, wf := range workflows {
		declare(rt.workflows, "workflow", wf.Name, wf, validateName("workflow", wf.Name))
	}
}

// AddChannel declares channels. It panics for one that could not be served.
func (rt *Runtime) AddChannel(channels ...*Channel) {
	for _, c := range channels {
		declare(rt.channels, "channel", c.Name, c, c.validate())
	}
}

// declare panics for what is not valid, and for a name that is taken.
func declare[T any](declared map[string]*T, kind, name string, one *T, invalid error) {
	if invalid != nil {
		panic("svc: " + invalid.Error())
	}
	if declared[name] != nil {
		panic(fmt.Sprintf("svc: %s %q is declared twice", kind, name))
	}
	declared[name] = one
}

// Workflows are those that were declared, by name.
func (rt *Runtime) Workflows() []*Workflow {
	var all []*Workflow
	for _, name := range slices.Sorted(maps.Keys(rt.workflows)) {
		all = append(all, rt.workflows[name])
	}
	return all
}

// Workflow finds a declared workflow, nil if there is none.
func (rt *Runtime) Workflow(name string) *Workflow { return rt.workflows[name] }

// Agent finds an agent of a scope by its name, nil if there is none.
func (s Scoped) Agent(ctx context.Context, name string) (*Agent, error) {
	return s.rt.agent(ctx, s.scope, name, "")
}

func (rt *Runtime) agent(ctx context.Context, scope, name, version string) (*Agent, error) {
	if a := rt.agents[name]; a != nil {
		return a, nil
	}
	if rt.config.Resolve == nil {
		return nil, nil
	}
	a, err := rt.config.Resolve(ctx, scope, name, version)
	if err != nil && asFault(err) == nil {
		return nil, notAnswered("find agent", err)
	}
	return a, err
}

// Declares reports whether an agent is one that was declared in code, and lives as long as the Runtime.
func (rt *Runtime) Declares(a *Agent) bool { return rt.agents[a.Name] == a }

// Channels are those that were declared, by name.
func (rt *Runtime) Channels() []*Channel {
	var all []*Channel
	for _, name := range slices.Sorted(maps.Keys(rt.channels)) {
		all = append(all, rt.channels[name])
	}
	return all
}

// Channel finds a declared channel, nil if there is none.
func (rt *Runtime) Channel(name string) *Channel { return rt.channels[name] }

// In binds every verb to a scope.
func (rt *Runtime) In(scope string) Scoped { return Scoped{rt: rt, scope: scope} }

// State says whether the Runtime takes work.
func (rt *Runtime) State() State {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.state
}

// Stopping is closed when Run begins to stop: whoever serves readers lets them go, spread over a third of StopTimeout.
func (rt *Runtime) Stopping() <-chan struct{} { return rt.stopping }

// StopTimeout is how long stopping may take.
func (rt *Runtime) StopTimeout() time.Duration { return rt.config.StopTimeout }

// Skew is how far the store's clock is ahead of this node's, as far as the store was asked.
func (rt *Runtime) Skew() time.Duration { return rt.clock.Ahead() }

// now is the time by the store's clock.
func (rt *Runtime) now() time.Time { return rt.clock.Now() }

// leastWait is how long a store may take to answer, however short a lease is.
const leastWait = time.Second

// within gives a call to the store a deadline: half a lease, so that its end is known before the lease is another's.
func (rt *Runtime) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(rt.config.Lease/2, leastWait))
}

// Working is how many streams this node works on now.
func (rt *Runtime) Working() int { return rt.crew.count() }

// Run works until ctx ends, and returns when every lease is released and every goroutine it began has ended. It can be
// called once.
func (rt *Runtime) Run(ctx context.Context) error {
	if rt.began.Swap(true) {
		return errors.New("svc: Run was called before")
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	// Work outlives ctx: leases are renewed until the last one is released.
	working, done := context.WithCancel(context.WithoutCancel(ctx))
	rt.crew.open(working)
	var group errgroup.Group
	group.Go(func() error { return rt.crew.watch(working) })
	group.Go(func() error { return rt.crew.renew(working) })
	group.Go(func() error { return rt.mind(ctx, working, fail) })
	group.Go(func() error {
		defer done()
		err := rt.crew.claim(ctx)
		rt.stop(Draining)
		rt.crew.drain(rt.config.StopTimeout)
		return err
	})
	return group.Wait()
}

// mind begins to stop when ctx ends. When a store that can tell says that it can no longer be trusted, then too while the
// node stops, all work ends at once: there is nothing to wait for.
func (rt *Runtime) mind(ctx, working context.Context, fail context.CancelCauseFunc) error {
	var failed <-chan struct{}
	if s, ok := rt.store.(interface{ Failed() <-chan struct{} }); ok {
		failed = s.Failed()
	}
	select {
	case <-ctx.Done():
		rt.stop(Draining)
	case <-failed:
	}
	select {
	case <-working.Done():
		return nil
	case <-failed:
	}
	rt.stop(Failed)
	close(rt.failed)
	err := fmt.Errorf("svc: %w", errFailed)
	fail(err)
	rt.crew.endAll(errFailed)
	return err
}

// stop tells that the node stops; that the store failed is told of one that stops already too.
func (rt *Runtime) stop(state State) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.state == Serving {
		rt.stopBy = time.Now().Add(rt.config.StopTimeout)
		close(rt.stopping)
	}
	if rt.state != Failed {
		rt.state = state
	}
}

// leftToStop is how long stopping may still take; stopping is false while the node does not.
func (rt *Runtime) leftToStop() (left time.Duration, stopping bool) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return time.Until(rt.stopBy), !rt.stopBy.IsZero()
}

// owner is this node as the store's leases name it.
func (rt *Runtime) newOwner() Owner {
	return Owner{
		Node: rt.config.Node, Boot: randomName("boot_"), Lease: rt.config.Lease,
		Workflows: slices.Sorted(maps.Keys(rt.workflows)), Agents: len(rt.agents) > 0 || rt.config.Resolve != nil,
	}
}

// idSource makes ids that sort by the time they were made.
type idSource struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

func (s *idSource) next(prefix string, at time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := ulid.New(ulid.Timestamp(at), s.entropy)
	if err != nil {
		// Only a broken source of randomness or a clock beyond the year 10889 brings us here.
		panic(fmt.Sprintf("svc: new id: %v", err))
	}
	return prefix + id.String()
}

// newUUID is a random UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func randomName(prefix string) string {
	var b [8]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}
