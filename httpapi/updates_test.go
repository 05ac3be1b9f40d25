package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
)

// updates reads everything after an offset, page by page.
func (s *server) updates(t *testing.T, path, after string) (all []update, pages int) {
	t.Helper()
	for {
		got := s.get(t, path+"?view=updates&offset="+after)
		if got.status != 200 {
			t.Fatalf("updates %s: %d %s", path, got.status, got.body)
		}
		all = append(all, decode[[]update](t, got.body)...)
		pages++
		after = got.header.Get(stream.HeaderNextOffset)
		if got.header.Get(stream.HeaderUpToDate) == "true" {
			return all, pages
		}
	}
}

// types are what happened, in short.
func types(all []update) string {
	var names []string
	for _, u := range all {
		names = append(names, u.Type)
	}
	return strings.Join(names, " ")
}

// sse reads updates from an offset, until the reader is told enough or the connection ends, and returns where it stands.
func (s *server) sse(t *testing.T, path, after string, enough func(update) bool) (all []update, at string) {
	t.Helper()
	body := s.open(t, path+"?view=updates&live=sse&offset="+after)
	defer body.Close()
	var data []update
	at = after
	for e, err := range stream.Events(body) {
		switch {
		case err != nil:
			return all, at
		case e.Name == "data":
			data = decode[[]update](t, string(e.Data))
		case e.Name == "control":
			control, err := stream.ParseControl(e.Data)
			if err != nil || control.Cursor != "" || control.Closed {
				t.Errorf("control %s: %v", e.Data, err)
			}
			// What came counts when its control has come.
			all, at = append(all, data...), control.NextOffset
			if slices.ContainsFunc(data, enough) {
				return all, at
			}
			data = nil
		}
	}
	return all, at
}

func isSettled(u update) bool { return u.Type == "submission-settled" }

func TestReplyIsFollowedAcrossARestart(t *testing.T) {
	db := filepath.Join(t.TempDir(), "svc.db")
	first := newServer(t, settings{db: db, stop: 200 * time.Millisecond})
	const path = "/agents/assistant/restart"
	at := first.prompt(t, path, "n=120 delay=20").Offset
	heard := make(chan []update)
	go func() {
		deltas := 0
		all, last := first.sse(t, path, at, func(u update) bool { deltas++; return deltas > 10 })
		at = last
		heard <- all
	}()
	before := <-heard
	first.end()
	second := newServer(t, settings{db: db})
	after, _ := second.sse(t, path, at, isSettled)
	told := append(before, after...)
	all, _ := second.updates(t, path, offset("0"))
	if diff := diff(all, told); diff != "" {
		t.Errorf("told in two halves (-want +got)\n%s", diff)
	}
	if got := types(all); !strings.Contains(got, "message-completed message-appended message-appended message-started") || !strings.HasSuffix(got, "message-completed submission-settled") {
		t.Errorf("heard %s", got)
	}
}

func TestUpdatesAppliedToAnySnapshotGiveALaterOne(t *testing.T) {
	s := newServer(t, settings{tune: func(c *svc.Config) { c.Gather = time.Millisecond }})
	for _, agent := range []string{"assistant", "tooluser"} {
		path := "/agents/" + agent + "/property"
		s.prompt(t, path, "n=10 delay=1")
		snapshots := map[string]*projection{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 12 {
				s.prompt(t, path, []string{"think n=12 delay=2", "n=0", "fail", "n=3 size=9000", "n=40 delay=1", "x"}[rand.N(6)])
				takes(rand.N(20 * time.Millisecond))
				if i%4 == 3 {
					s.do(t, "POST", path+"/abort", nil)
				}
			}
		}()
		var last *projection
		for settled := false; !settled; {
			last = s.history(t, path)
			snapshots[last.Offset] = last
			select {
			case <-done:
				settled = len(last.Settlements) == 13
			default:
			}
		}
		all, _ := s.updates(t, path, "-1")
		snapshots["-1"] = &projection{}
		t.Logf("%s: %d snapshots, %d chunks", path, len(snapshots), len(all))
		for from := range snapshots {
			open := snapshots[from].replies()
			for to, want := range snapshots {
				if from >= to && from != "-1" || to == "-1" {
					continue
				}
				p := s.replayed(t, snapshots[from], from, to, all)
				if want, got := want.normal(open), p.normal(open); !reflect.DeepEqual(want, got) {
					t.Fatalf("%s: from %s to %s (-snapshot +updates)\n%s", path, from, to, diff(want, got))
				}
			}
		}
	}
}

// replayed is a snapshot and the updates behind it up to an offset.
func (s *server) replayed(t *testing.T, from *projection, after, to string, all []update) *projection {
	t.Helper()
	data, _ := json.Marshal(from)
	p := decode[*projection](t, string(data))
	begin, _ := stream.Parse(after)
	end, _ := stream.Parse(to)
	p.applied = [2]int{int(begin), 1 << 30}
	for _, u := range all {
		if u.Position.Batch > int(end) {
			break
		}
		p.apply(u)
	}
	return p
}

func TestUpdatesComeInPagesOfWholeBatches(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/assistant/pages"
	s.prompt(t, path, "n=30 size=100000")
	all, _ := s.sse(t, path, "-1", isSettled)
	after, chunks, batch := "-1", 0, -1
	for pages := 1; ; pages++ {
		got := s.get(t, path+"?view=updates&offset="+after)
		page := decode[[]update](t, got.body)
		chunks += len(page)
		if len(got.body) > 1<<20 {
			t.Errorf("a page of %d bytes", len(got.body))
		}
		for i, u := range page {
			if u.Position.Batch < batch || i == 0 && u.Position.Batch == batch {
				t.Fatalf("batch %d again, at the start of a page", u.Position.Batch)
			}
			batch = u.Position.Batch
		}
		if want := stream.Offset(batch).String(); got.header.Get(stream.HeaderNextOffset) != want {
			t.Fatalf("next offset %s, want %s", got.header.Get(stream.HeaderNextOffset), want)
		}
		after = got.header.Get(stream.HeaderNextOffset)
		if got.header.Get(stream.HeaderUpToDate) == "true" {
			if pages < 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if want := 30 + 5; chunks != want {
		t.Errorf("%d chunks, want %d", chunks, want)
	}
	again, _ := s.sse(t, path, "-1", isSettled)
	if len(all) != chunks || len(again) != chunks {
		t.Errorf("%d chunks by SSE, then %d, want %d", len(all), len(again), chunks)
	}
}

func TestOffsetGivesTheSameBytesForEver(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/tooluser/same"
	s.prompt(t, path, "x")
	s.settles(t, path, 1)
	read := func() string { return s.get(t, path+"?view=updates&offset="+offset("1")).body }
	before := read()
	live := s.get(t, path+"?view=updates&live=long-poll&offset="+offset("1")).body
	s.prompt(t, path, "x")
	s.settles(t, path, 2)
	if after := read(); live != before || !strings.HasPrefix(after, strings.TrimSuffix(before, "]")+",") {
		t.Errorf("at first %s, then %s", before, after)
	}
}

// delegation is a model that hands a task to a sub-agent, which takes its time.
func delegation() model.Providers {
	return model.Providers{"scripted": scripted.Choose(func(r model.Request) scripted.Turn {
		if len(r.Tools) > 0 && r.Messages[len(r.Messages)-1].Role == model.RoleUser {
			return scripted.Turn{scripted.Call("task", map[string]string{"agent": "helper", "prompt": "help"})}
		}
		if len(r.Tools) > 0 {
			return scripted.Turn{scripted.Say("done")}
		}
		return scripted.Turn{scripted.Wait(2 * time.Second), scripted.Say("done")}
	})}
}

func TestBatchWithoutChunksEndsALongPoll(t *testing.T) {
	s := newServer(t, settings{
		tune: func(c *svc.Config) { c.Model = delegation().Find },
		declare: func(rt *svc.Runtime) {
			helper := &svc.Agent{Name: "helper", Model: "scripted/helper"}
			rt.AddAgent(&svc.Agent{Name: "boss", Model: "scripted/boss", Agents: []*svc.Agent{helper}, Route: svc.Open})
		},
	})
	const path = "/agents/boss/x"
	at := s.prompt(t, path, "x").Offset
	var all []update
	empty := 0
	for !slices.ContainsFunc(all, isSettled) {
		got := s.get(t, path+"?view=updates&live=long-poll&offset="+at)
		page := decode[[]update](t, got.body)
		if next := got.header.Get(stream.HeaderNextOffset); len(page) == 0 && next > at {
			empty++
		}
		all, at = append(all, page...), got.header.Get(stream.HeaderNextOffset)
	}
	const want = "message-appended message-started tool-input message-completed tool-output message-started message-delta message-completed submission-settled"
	if got := types(all); got != want || empty == 0 {
		t.Errorf("heard %s, and %d times nothing", got, empty)
	}
}

func TestLongPollIsAnsweredWhenSomethingHappens(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{LongPoll: time.Minute}})
	const path = "/agents/assistant/wait"
	s.prompt(t, path, "n=0")
	at := s.settles(t, path, 1).Offset
	answered := make(chan answer)
	go func() { answered <- s.get(t, path+"?view=updates&live=long-poll&offset="+at) }()
	eventually(t, "it waits", func() bool { return s.rt.Followed() == 1 })
	s.prompt(t, path, "n=1")
	got := <-answered
	if page := decode[[]update](t, got.body); got.status != 200 || len(page) == 0 || page[0].Type != "message-appended" {
		t.Errorf("answer %d %s", got.status, got.body)
	}
}

func TestReadersOfAConversationHearOneStory(t *testing.T) {
	s := newServer(t, settings{})
	const path, readers = "/agents/assistant/story", 8
	s.prompt(t, path, "n=0")
	heard := make(chan []update, readers)
	for i := range readers {
		time.AfterFunc(time.Duration(i)*20*time.Millisecond, func() {
			all, _ := s.sse(t, path, "-1", func(u update) bool { return isSettled(u) && u.Outcome == "failed" })
			heard <- all
		})
	}
	s.prompt(t, path, "n=200 delay=1")
	s.prompt(t, path, "fail")
	first := <-heard
	for range readers - 1 {
		if diff := diff(first, <-heard); diff != "" {
			t.Fatalf("two stories\n%s", diff)
		}
	}
}

func TestSlowReaderOfUpdatesIsEndedByTheWriteTimeout(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{WriteTimeout: 200 * time.Millisecond}})
	s.prompt(t, "/agents/assistant/slow", "n=15 size=1000000")
	s.sse(t, "/agents/assistant/slow", "-1", isSettled)
	eventually(t, "nobody is served", func() bool { return s.serving.Load() == 0 })
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(conn, "GET /agents/assistant/slow?view=updates&offset=-1&live=sse HTTP/1.1\r\nHost: x\r\n\r\n")
	eventually(t, "the handler serves", func() bool { return s.serving.Load() == 1 })
	eventually(t, "the handler gives up", func() bool { return s.serving.Load() == 0 })
}

func TestVanishedReaderOfUpdatesLeavesNothing(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{LongPoll: time.Minute, Heartbeat: time.Minute}})
	const path = "/agents/assistant/vanish"
	s.prompt(t, path, "n=0")
	at := s.settles(t, path, 1).Offset
	s.Client().CloseIdleConnections()
	eventually(t, "connections are idle", func() bool { return s.serving.Load() == 0 })
	before := goroutines(t)
	var conns []net.Conn
	for i := range 20 {
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET %s?view=updates&offset=%s&live=%s HTTP/1.1\r\nHost: x\r\n\r\n", path, at, []string{"sse", "long-poll"}[i%2])
	}
	eventually(t, "all are served", func() bool { return s.serving.Load() == 20 })
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "none is served", func() bool { return s.serving.Load() == 0 })
	eventually(t, "nobody follows", func() bool { return s.rt.Followed() == 0 })
	eventually(t, "their goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}

func TestStoreErrorBeforeTheHeadOfUpdatesIsAnAnswer(t *testing.T) {
	var store *ailing
	s := newServer(t, settings{wrap: func(inner svc.Store) svc.Store { store = &ailing{Store: inner}; return store }})
	const path = "/agents/assistant/ailing"
	s.prompt(t, path, "n=0")
	s.settles(t, path, 1)
	for _, read := range []string{"", "?view=updates&offset=-1", "?view=updates&offset=-1&live=long-poll", "?view=updates&offset=-1&live=sse"} {
		store.fail(errors.New("disk on fire"))
		s.get(t, path+read).wants(t, 500, "internal_error")
		for _, passing := range []error{svc.ErrBusy, svc.ErrUnavailable} {
			store.fail(fmt.Errorf("read: %w", passing))
			s.get(t, path+read).wants(t, 503, "runtime_unavailable")
		}
		store.fail(fmt.Errorf("read: %w", svc.ErrNoStream))
		s.get(t, path+read).wants(t, 404, "stream_not_found")
	}
}

// TestAReadThatMeetsAnErasureIsAnswered erases a conversation of several pages before each question that a read asks of the store.
// A reader who has heard nothing is refused as all later ones are; one who was let in learns that the connection broke.
func TestAReadThatMeetsAnErasureIsAnswered(t *testing.T) {
	var store *ailing
	var logged bytes.Buffer
	s := newServer(t, settings{
		Config: httpapi.Config{LongPoll: 200 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&logged, nil))},
		wrap:   func(inner svc.Store) svc.Store { store = &ailing{Store: inner}; return store },
	})
	const path = "/agents/assistant/erased"
	for n := range 3 {
		s.prompt(t, path, "n=0 "+strings.Repeat("x", stream.PageBytes))
		s.settles(t, path, n+1)
	}
	for _, read := range []string{"", "?view=updates&offset=-1", "?view=updates&offset=-1&live=long-poll", "?view=updates&offset=-1&live=sse"} {
		refused := false
		for before := range int32(8) {
			store.spare.Store(before)
			store.fail(fmt.Errorf("read: %w", svc.ErrNoStream))
			got := s.get(t, path+read)
			if got.status != 200 {
				got.wants(t, 404, "stream_not_found")
				refused = true
			}
		}
		if !refused {
			t.Errorf("%q is never refused", read)
		}
	}
	if strings.Contains(logged.String(), "no such stream") {
		t.Errorf("an erasure is no failure: %s", &logged)
	}
}
