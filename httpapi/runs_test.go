package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/stream"
)

// ailing is a store that fails when told to.
type ailing struct {
	svc.Store
	admit error
	tail  atomic.Pointer[error] // of every read
	spare atomic.Int32          // so many reads go well before
}

func (s *ailing) Admit(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	if s.admit != nil {
		return svc.Receipt{}, s.admit
	}
	return s.Store.Admit(ctx, a)
}

func (s *ailing) Tail(ctx context.Context, of svc.Stream) (svc.Tail, error) {
	if err := s.tail.Load(); err != nil && s.spare.Add(-1) < 0 {
		return svc.Tail{}, *err
	}
	return s.Store.Tail(ctx, of)
}

func (s *ailing) Read(ctx context.Context, of svc.Stream, r svc.Range) (svc.Page, error) {
	if err := s.tail.Load(); err != nil && s.spare.Add(-1) < 0 {
		return svc.Page{}, *err
	}
	return s.Store.Read(ctx, of, r)
}

func (s *ailing) fail(err error) { s.tail.Store(&err) }

// every mode of reading a run, from its start.
var modes = []string{"", "?offset=-1&live=long-poll", "?offset=-1&live=sse", "?offset=now", "?tail=1"}

func TestStoreErrorBeforeTheHeadIsAnAnswer(t *testing.T) {
	var store *ailing
	s := newServer(t, settings{wrap: func(inner svc.Store) svc.Store { store = &ailing{Store: inner}; return store }})
	id := s.begun(t, "chatty", `{"n":1,"delay":40000}`)
	eventually(t, "the run is parked", func() bool { return s.rt.Working() == 0 })
	for _, mode := range modes {
		store.fail(errors.New("disk on fire"))
		got := s.get(t, "/runs/"+id+mode)
		got.wants(t, 500, "internal_error")
		if strings.Contains(got.body, "fire") {
			t.Errorf("the cause is told: %s", got.body)
		}
		for _, passing := range []error{svc.ErrBusy, svc.ErrUnavailable} {
			store.fail(fmt.Errorf("read: %w", passing))
			s.get(t, "/runs/"+id+mode).wants(t, 503, "runtime_unavailable")
		}
		store.fail(fmt.Errorf("read: %w", svc.ErrNoStream))
		s.get(t, "/runs/"+id+mode).wants(t, 404, "run_not_found")
	}
}

func TestStoreErrorInTheMiddleBreaksTheConnection(t *testing.T) {
	var store *ailing
	s := newServer(t, settings{
		Config: httpapi.Config{LongPoll: 200 * time.Millisecond},
		wrap:   func(inner svc.Store) svc.Store { store = &ailing{Store: inner}; return store },
	})
	id := s.begun(t, "chatty", `{"n":1,"delay":40000}`)
	// Beyond the tail every read asks the store.
	body := s.open(t, "/runs/"+id+"?offset=0_7&live=sse")
	defer body.Close()
	store.fail(errors.New("disk on fire"))
	if text, err := io.ReadAll(body); err == nil {
		t.Errorf("%q ended well", text)
	}
}

func TestRunOfAWorkflowThatIsGoneIsNotFound(t *testing.T) {
	var store svc.Store
	s := newServer(t, settings{wrap: func(inner svc.Store) svc.Store { store = inner; return inner }})
	id := s.invoke(t, "trivial", "")
	rt, err := svc.New(svc.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	const nobody = "run_00000000000000000000000000"
	gone, unknown := ask(httpapi.New(rt, httpapi.Config{}), "/runs/"+id), ask(httpapi.New(rt, httpapi.Config{}), "/runs/"+nobody)
	gone.wants(t, 404, "run_not_found")
	if gone.body != strings.ReplaceAll(unknown.body, nobody, id) {
		t.Errorf("answer %s, of an unknown run %s", gone.body, unknown.body)
	}
}

func TestCursorIsAheadOfTheOneSent(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{LongPoll: 50 * time.Millisecond}})
	s.prompt(t, "/agents/assistant/cursor", "n=1")
	at := s.settles(t, "/agents/assistant/cursor", 1).Offset
	for name, path := range map[string]string{
		"a run":                 "/runs/" + s.invoke(t, "trivial", "") + "?offset=0_9",
		"an agent, with news":   "/agents/assistant/cursor?view=updates&offset=-1",
		"an agent, without any": "/agents/assistant/cursor?view=updates&offset=" + at,
	} {
		for _, sent := range []int64{0, 1 << 40} {
			got := s.get(t, fmt.Sprintf("%s&live=long-poll&cursor=%d", path, sent))
			cursor, err := strconv.ParseInt(got.header.Get(stream.HeaderCursor), 10, 64)
			if err != nil || cursor <= sent || sent > 0 && cursor > sent+180 {
				t.Errorf("%s: cursor %d sent, %d received, %v", name, sent, cursor, err)
			}
		}
		if got := s.get(t, path); got.header.Get(stream.HeaderCursor) != "" {
			t.Errorf("%s: a page that nobody waits for has a cursor", name)
		}
	}
}

func TestReadersSeeOneOrderUnderConcurrentWriters(t *testing.T) {
	const branches, lines, readers = 8, 50, 12
	s := newServer(t, settings{declare: func(rt *svc.Runtime) { rt.AddWorkflow(crowded(branches, lines)) }})
	id := s.invoke(t, "crowded", "")
	heard := make(chan string, readers)
	for i := range readers {
		time.AfterFunc(time.Duration(i)*5*time.Millisecond, func() { heard <- s.follow(t, id) })
	}
	first := <-heard
	for range readers - 1 {
		if other := <-heard; other != first {
			t.Fatal("two readers heard two stories")
		}
	}
	page := strings.Count(first, `"message":"line `)
	if page != branches*lines {
		t.Errorf("%d lines, want %d", page, branches*lines)
	}
	for i, index := range eventIndex.FindAllStringSubmatch(first, -1) {
		if index[1] != strconv.Itoa(i) {
			t.Fatalf("event %s at %d", index[1], i)
		}
	}
}

// crowded writes lines from many steps side by side.
func crowded(branches, lines int) *svc.Workflow {
	wf := svc.NewWorkflow("crowded", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
		var all []svc.Branching
		for i := range branches {
			all = append(all, svc.Branch(fmt.Sprintf("branch %d", i), func(context.Context) (int, error) {
				for n := range lines {
					w.Log(fmt.Sprintf("line %d of %d", n, i))
					takes(time.Millisecond)
				}
				return i, nil
			}))
		}
		return struct{}{}, svc.Parallel(ctx, w, all...)
	})
	wf.Route, wf.Runs = svc.Open, svc.Open
	return wf
}
