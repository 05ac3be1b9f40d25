package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
)

// receipt is the answer to a prompt.
type receipt struct {
	StreamURL    string `json:"streamUrl"`
	Offset       string `json:"offset"`
	SubmissionID string `json:"submissionId"`
}

// prompt sends a user's text, and fails the test unless it is taken.
func (s *server) prompt(t *testing.T, path, text string) receipt {
	t.Helper()
	got := s.do(t, "POST", path, strings.NewReader(said(text)), "Content-Type", jsonType)
	if got.status != 202 {
		t.Fatalf("prompt %s: %d %s", path, got.status, got.body)
	}
	return decode[receipt](t, got.body)
}

func said(text string) string {
	data, _ := stream.Encode(map[string]string{"kind": "user", "body": text})
	return string(data)
}

func decode[V any](t *testing.T, text string) V {
	t.Helper()
	var v V
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func (s *server) history(t *testing.T, path string) *projection {
	t.Helper()
	got := s.get(t, path)
	if got.status != 200 {
		t.Fatalf("history %s: %d %s", path, got.status, got.body)
	}
	return decode[*projection](t, got.body)
}

// settles waits until so many submissions have settled, and returns the conversation then.
func (s *server) settles(t *testing.T, path string, n int) (p *projection) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d settlements", n), func() bool { p = s.history(t, path); return len(p.Settlements) >= n })
	return p
}

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

func TestRacingFirstPromptsCreateOneConversation(t *testing.T) {
	s := newServer(t, settings{})
	const path, racers = "/agents/assistant/race", 16
	receipts := make([]receipt, racers)
	var group sync.WaitGroup
	for i := range receipts {
		group.Go(func() { receipts[i] = s.prompt(t, path, "n=1") })
	}
	group.Wait()
	s.settles(t, path, racers)
	all, _ := s.updates(t, path, "-1")
	resets := slices.DeleteFunc(slices.Clone(all), func(u update) bool { return u.Type != "conversation-reset" })
	if len(resets) != 1 || all[0].Type != "conversation-reset" {
		t.Errorf("%d conversations were created", len(resets))
	}
	ids := map[string]bool{}
	for _, r := range receipts {
		ids[r.SubmissionID] = true
		behind, _ := s.updates(t, path, r.Offset)
		if r.Offset == "-1" || !slices.ContainsFunc(behind, func(u update) bool { return u.Type == "message-appended" && u.Message.SubmissionID == r.SubmissionID }) {
			t.Errorf("what %s produced does not lie behind %s", r.SubmissionID, r.Offset)
		}
	}
	if len(ids) != racers {
		t.Errorf("%d submissions of %d", len(ids), racers)
	}
}

func TestPromptsAndDispatchesShareOneQueue(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/assistant/queue"
	var admitted []string
	for i := range 6 {
		text := fmt.Sprintf("n=2 delay=5 number %d", i)
		if i%3 == 1 {
			got := s.do(t, "POST", "/channels/echo/in", strings.NewReader(fmt.Sprintf(`{"id":"queue","text":%q}`, text)))
			admitted = append(admitted, decode[struct{ DispatchID string }](t, got.body).DispatchID)
			continue
		}
		admitted = append(admitted, s.prompt(t, path, text).SubmissionID)
	}
	var heard []string
	open := ""
	s.settles(t, path, 4)
	all, _ := s.updates(t, path, "-1")
	for _, u := range all {
		switch u.Type {
		case "message-appended":
			heard = append(heard, u.Message.SubmissionID)
			if open != "" {
				t.Errorf("%s began inside a reply", u.Message.SubmissionID)
			}
		case "message-started":
			open = u.MessageID
		case "message-completed":
			open = ""
		}
	}
	if diff := diff(admitted, heard); diff != "" {
		t.Errorf("order (-admitted +heard)\n%s", diff)
	}
}

func TestInstancesDoNotWaitForOneAnother(t *testing.T) {
	s := newServer(t, settings{stop: time.Millisecond})
	s.prompt(t, "/agents/assistant/same", "n=2 delay=400000")
	s.prompt(t, "/agents/tooluser/same", "x")
	s.prompt(t, "/agents/assistant/other", "n=1")
	s.settles(t, "/agents/tooluser/same", 1)
	s.settles(t, "/agents/assistant/other", 1)
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

func TestAbortDuringAReplyIsHeardInOrder(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/assistant/abort"
	receipt := s.prompt(t, path, "n=1000 delay=20")
	begun, at := s.sse(t, path, receipt.Offset, func(u update) bool { return u.Type == "message-delta" })
	aborted := time.Now()
	if got := s.do(t, "POST", path+"/abort", nil); got.body != `{"aborted":true}` {
		t.Errorf("abort: %s", got.body)
	}
	rest, _ := s.sse(t, path, at, isSettled)
	if took := time.Since(aborted); took > 5*time.Second {
		t.Errorf("settled after %v", took)
	}
	rest = slices.DeleteFunc(rest, func(u update) bool { return u.Type == "message-delta" })
	if got := types(rest); got != "message-completed message-appended submission-settled" {
		t.Errorf("heard %s", got)
	}
	if len(rest) == 3 && (rest[1].Message.Purpose != "advisory" || rest[2].Outcome != "aborted" || rest[2].SubmissionID != receipt.SubmissionID) {
		t.Errorf("heard %+v", rest)
	}
	if got := types(begun); !strings.HasPrefix(got, "message-appended message-started message-delta") {
		t.Errorf("before it %s", got)
	}
}

// slowTool makes a call take as long as it is let.
func slowTool(begun chan<- struct{}) svc.Tool {
	return svc.NewTool("add", "Adds, if it is let.", func(ctx context.Context, _ struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (int, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	})
}

func TestAbortDuringAToolNamesIt(t *testing.T) {
	begun := make(chan struct{}, 1)
	s := newServer(t, settings{declare: func(rt *svc.Runtime) {
		rt.AddAgent(&svc.Agent{Name: "slow", Model: "scripted/words", Tools: []svc.Tool{slowTool(begun)}, Route: svc.Open})
	}})
	const path = "/agents/slow/x"
	s.prompt(t, path, "x")
	<-begun
	s.do(t, "POST", path+"/abort", nil)
	s.settles(t, path, 1)
	all, _ := s.updates(t, path, "-1")
	if got := types(all); got != "conversation-reset message-appended message-started tool-input message-completed tool-output-error message-appended submission-settled" {
		t.Fatalf("heard %s", got)
	}
	notice := all[6].Message
	if !strings.Contains(string(notice.Signal), `"interruptedTools":"[{\"name\":\"add\",\"id\":\"call_`) || notice.SubmissionID != "" {
		t.Errorf("advisory %+v, signal %s", notice, notice.Signal)
	}
}

func TestReplyIsFollowedAcrossARestart(t *testing.T) {
	db := filepath.Join(t.TempDir(), "svc.db")
	first := newServer(t, settings{db: db, stop: 200 * time.Millisecond})
	const path = "/agents/assistant/restart"
	at := first.prompt(t, path, "n=40 delay=20").Offset
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
		return scripted.Turn{scripted.Wait(100 * time.Millisecond), scripted.Say("done")}
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

func TestVanishedClientStillGetsItsReply(t *testing.T) {
	s := newServer(t, settings{})
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	body := said("n=3 delay=50")
	fmt.Fprintf(conn, "POST /agents/assistant/gone HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	eventually(t, "it is admitted", func() bool { return s.get(t, "/agents/assistant/gone").status == 200 })
	conn.Close()
	if p := s.settles(t, "/agents/assistant/gone", 1); p.Settlements[0].Outcome != "completed" {
		t.Errorf("settled %+v", p.Settlements)
	}
}

// every mode of reading updates.
var updateModes = []string{"", "&live=long-poll", "&live=sse"}

func TestStoppingRefusesPromptsAndReaders(t *testing.T) {
	s := newServer(t, settings{stop: 900 * time.Millisecond, Config: httpapi.Config{LongPoll: time.Minute, Heartbeat: time.Minute}})
	const path = "/agents/assistant/stop"
	first := s.do(t, "POST", path, strings.NewReader(said("n=0")), "Content-Type", jsonType, "Idempotency-Key", "k")
	at := s.settles(t, path, 1).Offset
	ended := make(chan answer, 2)
	go func() { ended <- s.get(t, path+"?view=updates&live=sse&offset="+at) }()
	go func() { ended <- s.get(t, path+"?view=updates&live=long-poll&offset="+at) }()
	eventually(t, "both wait", func() bool { return s.serving.Load() == 2 && s.rt.Followed() == 1 })
	go s.stop()
	<-s.rt.Stopping()

	s.do(t, "POST", path, strings.NewReader(said("n=1")), "Content-Type", jsonType).wants(t, 503, "runtime_unavailable")
	s.do(t, "POST", path, strings.NewReader(said("n=1")), "Content-Type", jsonType, "Idempotency-Key", "k").wants(t, 409, "idempotency_conflict")
	again := s.do(t, "POST", path, strings.NewReader(said("n=0")), "Content-Type", jsonType, "Idempotency-Key", "k")
	if again.status != 202 || again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replayed: %d %s, at first %s", again.status, again.body, first.body)
	}
	s.do(t, "POST", path, strings.NewReader(`{}`), "Content-Type", jsonType).wants(t, 400, "invalid_request")
	for _, mode := range updateModes {
		got := s.get(t, path+"?view=updates&offset=-1"+mode)
		got.wants(t, 503, "runtime_unavailable")
		if !strings.Contains(got.body, `"meta":{"state":"draining"}`) || got.header.Get("Retry-After") != "1" {
			t.Errorf("answer %v %s", got.header, got.body)
		}
	}
	s.get(t, path+"?view=updates&offset=bad").wants(t, 400, "invalid_request")
	s.history(t, path)
	for range 2 {
		got := <-ended
		if got.err != nil || got.status != 200 || got.body != "[]" && !strings.HasSuffix(got.body, "\n\n") {
			t.Errorf("answer %d %q ended with %v", got.status, got.body, got.err)
		}
	}
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

func TestRacingPromptsWithOneKeyAdmitOnce(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/assistant/key"
	answers := make([]answer, 16)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answers[i] = s.do(t, "POST", path, strings.NewReader(said("n=1")), "Content-Type", jsonType, "Idempotency-Key", "race")
		})
	}
	group.Wait()
	first := 0
	for _, got := range answers {
		if got.status != 202 || got.body != answers[0].body || got.header.Get("Location") == "" || got.header.Get(stream.HeaderNextOffset) != offset("0") {
			t.Errorf("answer %d %v %s", got.status, got.header, got.body)
		}
		if got.header.Get("Idempotency-Replayed") == "" {
			first++
		}
	}
	if p := s.settles(t, path, 1); first != 1 || len(p.Messages) != 2 {
		t.Errorf("%d of them were the first, %d messages", first, len(p.Messages))
	}
}

func TestStreamURLIsAbsolute(t *testing.T) {
	public := func(r *http.Request) string { return "https://api.example.test/w/" + r.Header.Get("X-Workspace") }
	for name, c := range map[string]struct {
		settings
		want string
	}{
		"as received": {settings{mount: "/v1/api"}, "http://ADDRESS/v1/api/agents/assistant/a%2fb"},
		"public":      {settings{mount: "/v1/api", Config: httpapi.Config{PublicURL: public}}, "https://api.example.test/w/7/agents/assistant/a%2fb"},
	} {
		s := newServer(t, c.settings)
		got := s.do(t, "POST", "/v1/api/agents/assistant/a%2fb?x=1", strings.NewReader(said("n=0")), "Content-Type", jsonType, "X-Workspace", "7", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "else.test")
		want := strings.ReplaceAll(c.want, "ADDRESS", s.address())
		if url := decode[receipt](t, got.body).StreamURL; url != want || got.header.Get("Location") != want {
			t.Errorf("%s: %s, Location %s, want %s", name, url, got.header.Get("Location"), want)
		}
	}
}

func TestStreamURLOfATLSConnectionIsHTTPS(t *testing.T) {
	s := newServer(t, settings{})
	secure := httptest.NewTLSServer(s.Config.Handler)
	defer secure.Close()
	response, err := secure.Client().Post(secure.URL+"/agents/assistant/tls", jsonType, strings.NewReader(said("n=0")))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got := response.Header.Get("Location"); got != secure.URL+"/agents/assistant/tls" {
		t.Errorf("Location %s", got)
	}
}

func TestConversationsOfTwoScopesNeverMeet(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{Scope: func(r *http.Request) (string, error) { return r.Header.Get("X-Scope"), nil }}})
	const path = "/agents/tooluser/same"
	const message = `{"kind":"user","body":"x","attachments":[{"type":"image","data":"aGVsbG8=","mimeType":"text/plain"}]}`
	var ids []string
	for _, scope := range []string{"users/a", "users/b"} {
		got := s.do(t, "POST", path, strings.NewReader(message), "Content-Type", jsonType, "X-Scope", scope, "Idempotency-Key", "same")
		if got.status != 202 || got.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: %d %v", scope, got.status, got.header)
		}
		ids = append(ids, decode[receipt](t, got.body).SubmissionID)
	}
	s.get(t, path).wants(t, 404, "stream_not_found")
	eventually(t, "both have settled", func() bool {
		return strings.Contains(s.do(t, "GET", path, nil, "X-Scope", "users/a").body, `"outcome":"completed"`) &&
			strings.Contains(s.do(t, "GET", path, nil, "X-Scope", "users/b").body, `"outcome":"completed"`)
	})
	if got := s.do(t, "GET", path, nil, "X-Scope", "users/a"); strings.Contains(got.body, ids[1]) {
		t.Errorf("a sees what b said: %s", got.body)
	}
	attachment := path + "/attachments/att_direct_" + ids[0] + "_0"
	if got := s.do(t, "GET", attachment, nil, "X-Scope", "users/a"); got.body != "hello" {
		t.Errorf("own attachment: %d %s", got.status, got.body)
	}
	s.do(t, "GET", attachment, nil, "X-Scope", "users/b").wants(t, 404, "attachment_not_found")
	if got := s.do(t, "POST", path+"/abort?submission="+ids[0], nil, "X-Scope", "users/b"); got.body != `{"aborted":false}` {
		t.Errorf("abort: %s", got.body)
	}
}

func TestResolvedAgentIsServedLikeADeclaredOne(t *testing.T) {
	var built atomic.Int64
	guard := func(next http.Handler) http.Handler { built.Add(1); return next }
	s := newServer(t, settings{tune: func(c *svc.Config) {
		c.Resolve = func(_ context.Context, _, name, _ string) (*svc.Agent, error) {
			switch name {
			case "found":
				return &svc.Agent{Name: "found", Model: "scripted/words", Route: guard}, nil
			case "unserved":
				return &svc.Agent{Name: "unserved", Model: "scripted/words"}, nil
			case "broken":
				return nil, errors.New("secret")
			}
			return nil, nil
		}
	}})
	s.prompt(t, "/agents/found/x", "n=1")
	s.settles(t, "/agents/found/x", 1)
	if built.Load() < 2 {
		t.Errorf("the guard of an agent that is found anew was built %d times", built.Load())
	}
	s.get(t, "/agents/unserved/x").wants(t, 404, "agent_not_found")
	s.get(t, "/agents/nobody/x").wants(t, 404, "agent_not_found")
	s.get(t, "/agents/broken/x").wants(t, 503, "runtime_unavailable")
	s.get(t, "/agents/broken/x/attachments/a").wants(t, 503, "runtime_unavailable")
}

func TestAgentGuardIsBuiltOnce(t *testing.T) {
	var built atomic.Int64
	s := newServer(t, settings{declare: func(rt *svc.Runtime) {
		rt.AddAgent(&svc.Agent{Name: "counted", Model: "scripted/words", Route: func(next http.Handler) http.Handler { built.Add(1); return next }})
	}})
	for range 3 {
		s.get(t, "/agents/counted/x")
		s.get(t, "/agents/counted/x/submissions")
	}
	if built.Load() != 1 {
		t.Errorf("built %d times", built.Load())
	}
}

func TestMegabytesOfAnImagePassAndOneByteMoreIsRefused(t *testing.T) {
	patience(t)
	s := newServer(t, settings{})
	const path, longest = "/agents/tooluser/image", 14 << 20
	image := func(size int) answer {
		body := `{"kind":"user","body":"","attachments":[{"type":"image","mimeType":"a\u0001b","data":"` + strings.Repeat("A", size) + `"}]}`
		return s.do(t, "POST", path, strings.NewReader(body), "Content-Type", jsonType)
	}
	refused := image(longest + 1)
	refused.wants(t, 400, "invalid_request")
	if !strings.Contains(refused.body, "Image data is longer than 14680064 characters.") {
		t.Errorf("answer %s", refused.body)
	}
	s.get(t, path).wants(t, 404, "stream_not_found")
	got := image(longest)
	if got.status != 202 {
		t.Fatalf("answer %d %s", got.status, got.body)
	}
	loaded := s.get(t, path+"/attachments/att_direct_"+decode[receipt](t, got.body).SubmissionID+"_0")
	if loaded.status != 200 || len(loaded.body) != longest/4*3 || loaded.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("image %d, %d bytes, %v", loaded.status, len(loaded.body), loaded.header)
	}
	image(longest+1).wants(t, 400, "invalid_request")
	s.prompt(t, path, "x")
	s.settles(t, path, 2)
}

// TestOnlyImagesAreShownInTheirPlace sends what says that it is an image, and what says that it is something else.
func TestOnlyImagesAreShownInTheirPlace(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/tooluser/shown"
	types := map[string]string{
		"image/png": "inline", "image/jpeg": "inline", "image/gif": "inline", "image/webp": "inline", "image/avif": "inline", "Image/PNG": "inline", "image/png; x=y": "inline",
		"image/svg+xml": "attachment", "text/html": "attachment", "application/pdf": "attachment", "": "attachment", "image/*": "attachment", "image/png, text/html": "attachment",
		"image/png;": "inline", "text/html; image/png": "attachment", "application/xhtml+xml": "attachment", "x\ny": "attachment", "é": "attachment", "image/pngx": "attachment",
	}
	for sent, want := range types {
		image, _ := json.Marshal(map[string]string{"type": "image", "data": "aGVsbG8=", "mimeType": sent})
		got := s.do(t, "POST", path, strings.NewReader(`{"kind":"user","body":"","attachments":[`+string(image)+`]}`), "Content-Type", jsonType)
		loaded := s.get(t, path+"/attachments/att_direct_"+decode[receipt](t, got.body).SubmissionID+"_0")
		h := loaded.header
		if loaded.status != 200 || loaded.body != "hello" || h.Get("Content-Disposition") != want || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Security-Policy") != "sandbox" || h.Get("Cache-Control") != "private, max-age=31536000, immutable" {
			t.Errorf("%q: %d %v", sent, loaded.status, h)
		}
	}
}

// many is a user's message with so many small images.
func many(images int) string {
	const image = `{"type":"image","mimeType":"image/png","data":"aGVsbG8="}`
	return `{"kind":"user","body":"n=1","attachments":[` + strings.TrimSuffix(strings.Repeat(image+",", images), ",") + `]}`
}

// attributes is a signal with so many of them.
func attributes(n int) string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf(`"%d":""`, i))
	}
	return `{"kind":"signal","type":"t","body":"","attributes":{` + strings.Join(pairs, ",") + `}}`
}

func TestMegabytesDoNotStopTheQueue(t *testing.T) {
	patience(t)
	const longest = 1 << 20
	s := newServer(t, settings{Config: httpapi.Config{MaxBody: longest}})
	for i, sent := range []struct{ name, body, fault string }{
		{"base64 of the other alphabet", `{"kind":"user","body":"x","attachments":[{"type":"image","mimeType":"a","data":"ab-_"}]}`, "invalid_request"},
		{"the second of two images", `{"kind":"user","body":"x","attachments":[{"type":"image","mimeType":"a","data":"aGk="},{"type":"image","mimeType":"a","data":"%"}]}`, "invalid_request"},
		{"1,024 images", many(1024), ""},
		{"1,025 images", many(1025), "invalid_request"},
		{"10,000 images", many(10_000), "invalid_request"},
		{"256 attributes", attributes(256), ""},
		{"257 attributes", attributes(257), "invalid_request"},
		{"80,000 attributes", attributes(80_000), "invalid_request"},
		{"attributes that are long", `{"kind":"signal","type":"t","body":"","attributes":{"a":"` + strings.Repeat("x", 64<<10) + `"}}`, "invalid_request"},
		{"attributes that are markup", `{"kind":"signal","type":"\"><x","body":"</signal>","attributes":{"a=\"1\" b":"\"/>","</signal>":"<","":"","__proto__":"x"},"tagName":"x"}`, ""},
		{"an attribute that is no string", `{"kind":"signal","type":"t","body":"","attributes":{"a":{"b":1}}}`, "invalid_request"},
		{"a tag name that is markup", `{"kind":"signal","type":"t","body":"","tagName":"x><y"}`, "invalid_request"},
		{"a tag name with a line break", `{"kind":"signal","type":"t","body":"","tagName":"x\n"}`, "invalid_request"},
		{"an empty tag name", `{"kind":"signal","type":"t","body":"","tagName":""}`, "invalid_request"},
		{"unknown fields", `{"kind":"user","body":"n=1","extra":{"deep":[1]},"attachments":[],"Attachments":7}`, ""},
		{"a case variant beside the right key", `{"kind":"user","body":"n=1","Body":"x","KIND":"signal"}`, ""},
		{"a case variant of kind", `{"Kind":"user","body":"x"}`, "invalid_request"},
		{"a case variant of body", `{"kind":"user","Body":"x"}`, "invalid_request"},
		{"a body over the cap", `{"kind":"user","body":"` + strings.Repeat("x", longest) + `"}`, "body_too_large"},
		{"deep nesting", `{"kind":"user","body":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "invalid_json"},
	} {
		path, settled := fmt.Sprint("/agents/assistant/hostile-", i), 1
		got := s.do(t, "POST", path, strings.NewReader(sent.body), "Content-Type", jsonType)
		switch {
		case sent.fault == "" && got.status == 202:
			settled++
		case sent.fault == "" || !strings.Contains(got.body, `"type":"`+sent.fault+`"`):
			t.Fatalf("%s: %d %.200s", sent.name, got.status, got.body)
		}
		s.prompt(t, path, "n=1")
		for _, ended := range s.settles(t, path, settled).Settlements {
			if ended.Outcome != "completed" {
				t.Errorf("%s: settlement %+v", sent.name, ended)
			}
		}
	}
}

func TestOffsetOfAnotherDatabaseIsGoneAndTheQueueGoesOn(t *testing.T) {
	older, newer := newServer(t, settings{}), newServer(t, settings{})
	const path = "/agents/assistant/moved"
	for i := range 3 {
		older.prompt(t, path, "n=1")
		older.settles(t, path, i+1)
	}
	offset := older.get(t, path).header.Get(stream.HeaderNextOffset)
	newer.prompt(t, path, "n=0")
	newer.settles(t, path, 1)
	for _, mode := range []string{"", "&live=long-poll", "&live=sse"} {
		newer.get(t, path+"?view=updates&offset="+offset+mode).wants(t, 410, "stream_offset_gone")
	}
	newer.prompt(t, path, "n=1")
	newer.settles(t, path, 2)
}

func TestParkedWorkIsListedWithItsReason(t *testing.T) {
	failing := model.Providers{"scripted": scripted.Choose(func(model.Request) scripted.Turn {
		return scripted.Turn{scripted.Fail(&model.Error{Class: model.Overloaded, Message: "later"})}
	})}
	s := newServer(t, settings{tune: func(c *svc.Config) { c.Model, c.ModelRetry = failing.Find, time.Hour }})
	const path = "/agents/assistant/parked"
	s.prompt(t, path, "x")
	eventually(t, "it is parked", func() bool {
		return strings.Contains(s.get(t, path+"/submissions").body, `"state":"parked","reason":"model_backoff"}]}`)
	})
	if got := s.do(t, "POST", path+"/abort", nil); got.body != `{"aborted":true}` {
		t.Errorf("abort: %s", got.body)
	}
	s.settles(t, path, 1)
}
