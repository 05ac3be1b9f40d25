package outage_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// ask is a request that is made while the database cannot be reached.
type ask struct {
	name   string
	method string
	path   string
	body   []byte
	key    string
}

// admissions are asks that, once admitted, must have been admitted once.
var admissions = []ask{
	{name: "prompt", method: http.MethodPost, path: "/agents/assistant/new", body: message("n=1", nil), key: "k-prompt"},
	{name: "image prompt", method: http.MethodPost, path: "/agents/assistant/picture", body: message("n=1", []byte("\x89PNG")), key: "k-image"},
	{name: "next prompt", method: http.MethodPost, path: "/agents/assistant/old", body: message("n=1", nil), key: "k-next"},
	{name: "run", method: http.MethodPost, path: "/workflows/steps", body: []byte(`{"n":1}`), key: "k-run"},
}

// looks are asks that change nothing. What a node still knows it may tell.
var looks = []ask{
	{name: "history", method: http.MethodGet, path: "/agents/assistant/old"},
	{name: "updates", method: http.MethodGet, path: "/agents/assistant/old?view=updates&offset=-1"},
	{name: "submissions", method: http.MethodGet, path: "/agents/assistant/old/submissions"},
	{name: "head", method: http.MethodHead, path: "/agents/assistant/old"},
	{name: "events", method: http.MethodGet, path: "/runs/%s?offset=-1"},
	{name: "record", method: http.MethodGet, path: "/runs/%s?meta"},
	{name: "abort", method: http.MethodPost, path: "/agents/assistant/old/abort"},
}

// soon is how long an answer may take while the database cannot be reached.
const soon = 10 * time.Second

func TestUnreachableDatabaseIsAnsweredWith503(t *testing.T) {
	t.Parallel()
	for _, way := range partitions {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newSolo(t, 1, func(c *setup) { c.Lease = 0 }).start()
			s.works("old", soon)
			first := s.node.must(s.node.invoke("steps", "", climbing{N: 1}))
			until(t, soon, "a run ends", func() bool { return s.observer.over(first) })
			if err := way.begin(s.proxies[0]); err != nil {
				t.Fatal(err)
			}
			s.askAll(first)
			s.proxies[0].Heal()
			s.insist(false)
		})
	}
}

// askAll asks everything at once, and demands that each is refused for now, soon.
func (s *solo) askAll(run string) {
	s.t.Helper()
	var all sync.WaitGroup
	for _, a := range append(append([]ask{}, admissions...), looks...) {
		all.Go(func() {
			path := a.path
			if strings.Contains(path, "%s") {
				path = fmt.Sprintf(path, run)
			}
			got := s.node.do(a.method, path, a.key, a.body, soon+5*time.Second)
			known := a.key == "" && got.status == http.StatusOK
			if a.method == http.MethodHead && got.status == http.StatusServiceUnavailable {
				known = got.header.Get("Retry-After") != ""
			}
			if !known && !got.unavailable() || got.took > soon {
				s.t.Errorf("%s: %v; want 503 runtime_unavailable with Retry-After, within %v", a.name, got, soon)
			}
		})
	}
	all.Wait()
}

// insist repeats the admissions under their keys until they are answered, and demands that each was admitted once.
func (s *solo) insist(replayed bool) {
	s.t.Helper()
	ids := map[string]string{}
	for _, a := range admissions {
		var last answer
		until(s.t, 2*soon, a.name+" is admitted once the database is back", func() bool {
			last = s.node.do(a.method, a.path, a.key, a.body, soon)
			return last.status == http.StatusAccepted
		}, func() string { return "\nthe node answered " + last.String() + "\n" + s.node.Complaints() })
		if replayed && !last.replayed {
			s.t.Errorf("%s: was admitted before, and is admitted again: %v", a.name, last)
		}
		ids[a.name] = last.id
		if again := s.node.do(a.method, a.path, a.key, a.body, soon); again.id != last.id || !again.replayed {
			s.t.Errorf("%s: under one key %s is admitted and then %v", a.name, last.id, again)
		}
	}
	until(s.t, 2*soon, "all settles", func() bool {
		return s.observer.over(ids["run"]) && s.observer.idle("assistant", "new") && s.observer.idle("assistant", "picture") && s.observer.idle("assistant", "old")
	}, s.node.Complaints)
	s.observer.readRun(ids["run"], `{"sum":0}`)
	s.observer.readChat("assistant", "new", []string{ids["prompt"]})
	s.observer.readChat("assistant", "picture", []string{ids["image prompt"]})
	old := s.observer.settled("assistant", "old")
	if len(old) != 2 || old[1] != ids["next prompt"] {
		s.t.Errorf("settled in the old instance are %v, want one before %s", old, ids["next prompt"])
	}
	if n := len(s.observer.listed()); n != 2 {
		s.t.Errorf("%d runs are listed, want the one before and the one since", n)
	}
}

// A server that obeyed and whose answer was lost has admitted; nobody knows, so the client is asked to come again.
func TestAdmissionWhoseAnswerIsLostHappensOnce(t *testing.T) {
	t.Parallel()
	s := newSolo(t, 1, nil).start()
	s.works("old", soon)
	first := s.node.must(s.node.invoke("steps", "", climbing{N: 1}))
	until(t, soon, "a run ends", func() bool { return s.observer.over(first) })
	for i, a := range admissions {
		s.proxies[0].LoseCommits(1, func(statement string) bool {
			return strings.Contains(strings.ToLower(statement), "insert into submissions")
		})
		got := s.node.do(a.method, a.path, a.key, a.body, 3*soon)
		if lost := s.proxies[0].LostCommits(); lost != i+1 {
			t.Fatalf("%s: %d answers were lost, want %d: %v", a.name, lost, i+1, got)
		}
		// A node may try again by itself, and find what it had done.
		if got.status != http.StatusAccepted && !got.unavailable() {
			t.Errorf("%s: %v; want 503 runtime_unavailable with Retry-After", a.name, got)
		}
	}
	s.insist(true)
}
