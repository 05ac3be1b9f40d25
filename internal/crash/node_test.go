// Package crash_test kills processes. The test binary starts itself again as a node, a process with a Runtime that obeys
// its parent over a pipe, and ends it in every way that a process can end: whatever was promised must be kept by the next.
package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/child"
	"svc.dev/svc/internal/critic"
	"svc.dev/svc/model"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

func TestMain(m *testing.M) { os.Exit(child.Main(m, serveNode)) }

// setup is how a node is started.
type setup struct {
	Address     string
	Name        string // of the node in its leases
	Effects     string // the file that tells what really ran
	Gate        string // a file that gated steps wait for
	Lease       time.Duration
	Poll        time.Duration
	StopTimeout time.Duration
	Workers     int
	MaxAttempts int
	Trap        trap          // set before anything runs
	Pace        time.Duration // before each event of the model. Defaults to longer than events are gathered
	Late        time.Duration // how much later than it was true the store tells what is marked for abort
	Project     string        // the bundle of a project that the node runs too; empty: none
}

// request is one line from the parent, reply the line that answers it. The first line of a node is a reply without a
// request: it lists the active runs as they were found.
type request struct {
	ID       int
	Op       string
	Workflow string
	RunID    string
	Key      string
	Message  string
	Input    json.RawMessage `json:",omitempty"`
	Trap     trap
	chatRequest
}

type reply struct {
	ID       int
	Error    string
	RunID    string
	Replayed bool
	Story    *critic.Story
	Runs     []string
	Active   map[string][]json.RawMessage // of each active run, its events
	Stats    stats
	chatReply
}

// node is the child process.
type node struct {
	setup
	rt      *svc.Runtime
	store   *mortal
	effects *os.File

	mu  sync.Mutex
	out *json.Encoder
}

func serveNode(text []byte) error {
	var n node
	if err := json.Unmarshal(text, &n.setup); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := sqlstore.Open(context.Background(), n.Address, sqlstore.Config{Poll: n.Poll, Log: logger})
	if err != nil {
		return err
	}
	if n.effects, err = os.OpenFile(n.Effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	n.store = &mortal{Store: store, trap: n.Trap, late: n.Late}
	n.store.torn = func() { n.mark("request", "malformed", "an_end_apart_from_what_it_ends") }
	n.rt, err = svc.New(svc.Config{
		Store: n.store, Node: n.Name, Lease: n.Lease, Workers: n.Workers, MaxAttempts: n.MaxAttempts,
		Park: parkAfter, Gather: 4 * time.Millisecond, StopTimeout: n.StopTimeout, Log: logger,
		Model: model.Providers{"scripted": n.model()}.Find, ModelRetry: 10 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	n.declare()
	n.declareAgents()
	if err := n.loadProject(); err != nil {
		return err
	}
	n.out = json.NewEncoder(os.Stdout)
	n.out.SetEscapeHTML(false) // the bytes of events are compared
	if err := n.hello(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go n.obey(os.Stdin)
	return errors.Join(n.rt.Run(ctx), store.Close())
}

// hello tells what is on record before anything runs.
func (n *node) hello() error {
	active := map[string][]json.RawMessage{}
	page, err := n.store.ListRuns(context.Background(), svc.RunQuery{Status: workflow.Active, Limit: 10_000})
	if err != nil {
		return err
	}
	for _, run := range page.Runs {
		if active[run.ID], _, err = critic.EventsOf(context.Background(), n.rt, run); err != nil {
			return err
		}
	}
	open, err := n.openChats()
	if err != nil {
		return err
	}
	return n.out.Encode(reply{Active: active, chatReply: chatReply{Open: open}})
}

// obey answers until the parent is gone, and ends the process then: no node outlives its test.
func (n *node) obey(in io.Reader) {
	lines := json.NewDecoder(in)
	for {
		var r request
		if err := lines.Decode(&r); err != nil {
			os.Exit(3)
		}
		go func() {
			answer, err := n.answer(r)
			answer.ID = r.ID
			if err != nil {
				answer.Error = err.Error()
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			_ = n.out.Encode(answer)
		}()
	}
}

func (n *node) answer(r request) (a reply, err error) {
	ctx := context.Background()
	switch r.Op {
	case "arm":
		n.store.arm(r.Trap)
	case "invoke":
		invoked, err := n.rt.Invoke(ctx, r.Workflow, svc.Invocation{Input: r.Input, Key: r.Key})
		return reply{RunID: invoked.RunID, Replayed: invoked.Replayed}, err
	case "await":
		run, err := n.rt.Await(ctx, r.Workflow, r.RunID)
		if err != nil {
			return a, err
		}
		a.Story, err = critic.StoryOf(ctx, n.rt, run)
		return a, err
	case "story":
		run, err := n.rt.GetRun(ctx, r.RunID)
		if err != nil {
			return a, err
		}
		a.Story, err = critic.StoryOf(ctx, n.rt, run)
		return a, err
	case "hear":
		return a, n.hear(ctx, workflow.Run{ID: r.RunID, Workflow: r.Workflow}, r.Message)
	case "cancel":
		_, err = n.rt.CancelRun(ctx, r.RunID)
	case "list":
		a.Runs, err = n.list(ctx)
	case "stats":
		a.Stats = n.store.count()
	default:
		a.chatReply, err = n.answerChat(ctx, r)
	}
	return a, err
}

// hear returns once the run has logged the message.
func (n *node) hear(ctx context.Context, run workflow.Run, message string) error {
	follower := n.rt.Follow(n.rt.RunStream(run))
	defer follower.Close()
	after := stream.Start
	for {
		wake := follower.Wake()
		frame, err := follower.Page(ctx, after)
		if err != nil {
			return err
		}
		var events []workflow.Event
		if err := json.Unmarshal(frame.JSON(), &events); err != nil {
			return err
		}
		for _, e := range events {
			if e.Message != nil && *e.Message == message {
				return nil
			}
		}
		if after = frame.Next; frame.Closed {
			return nil
		}
		if frame.Tail {
			<-wake
		}
	}
}

func (n *node) list(ctx context.Context) (ids []string, err error) {
	var f svc.RunFilter
	for {
		page, err := n.rt.ListRuns(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, run := range page.Runs {
			ids = append(ids, run.RunID)
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return ids, nil
		}
	}
}
