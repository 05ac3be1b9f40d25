package flood

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// The bounds of the contract: what a process may hold that has a budget of 384 MiB, and how long a prompt may take while others attack.
const (
	budget     = "SVC_LIMIT_MEMORY=384MiB"
	mostMemory = 512 // MiB
	slowest    = 200 * time.Millisecond
)

// onEach runs a test on SQLite, and in the soak on PostgreSQL.
func onEach(t *testing.T, test func(t *testing.T, database string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "SVC_DATABASE_URL=") })
	t.Run("postgres", func(t *testing.T) {
		if !full() {
			t.Skip("SVC_SOAK is not set: the same again on PostgreSQL takes a while")
		}
		test(t, "SVC_DATABASE_URL="+sqldbtest.Postgres(t))
	})
}

// person is somebody who is signed in.
type person struct{ Username, Cookie string }

// base is where a person's work is, and files where files of theirs are.
func (p person) base() string { return "/v1/" + p.Username + "/personal" }
func (p person) files() string {
	return "/api/workspaces/" + p.Username + "/personal/projects/files/files"
}

// enrol signs somebody up.
func (s *server) enrol(t *testing.T, n int) person {
	t.Helper()
	p := person{Username: fmt.Sprintf("guest%d", n)}
	answer, err := visit(s.address, s.origin, from(1<<20+n)).post("/api/auth/password/register", "", map[string]string{
		"email": p.Username + "@example.com", "password": password, "username": p.Username,
	})
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("register: %v, %v", answer, err)
	}
	for _, c := range answer.Cookies() {
		if c.Name == "svc_session" {
			p.Cookie = c.Name + "=" + c.Value
		}
	}
	return p
}

// guest is a person at work, over connections that are kept.
type guest struct {
	person
	origin string
	client *http.Client
}

func (s *server) guest(p person) *guest {
	v := visit(s.address, s.agents, "127.0.0.1")
	v.Transport.(*http.Transport).DisableKeepAlives = false
	v.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	return &guest{p, s.agents, v.Client}
}

// ask sends a request and reads the answer.
func (g *guest) ask(ctx context.Context, method, path, body string) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, g.origin+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if method != http.MethodGet {
		r.Header.Set("Origin", g.origin)
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Cookie", g.Cookie)
	answer, err := g.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}

// prompt sends a message of a text, and returns where its reply begins.
func (g *guest) prompt(ctx context.Context, id, text string) (offset string, err error) {
	body, err := json.Marshal(map[string]string{"kind": "user", "body": text})
	if err != nil {
		return "", err
	}
	answer, told, err := g.ask(ctx, http.MethodPost, g.base()+"/agents/central/"+id, string(body))
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusAccepted {
		return "", fmt.Errorf("prompt: %s %.200s", answer.Status, told)
	}
	return answer.Header.Get("Stream-Next-Offset"), nil
}

// settled waits until what was asked at an offset is answered.
func (g *guest) settled(ctx context.Context, id, offset string) error {
	for {
		answer, told, err := g.ask(ctx, http.MethodGet, g.base()+"/agents/central/"+id+"?view=updates&live=long-poll&offset="+offset, "")
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("follow: %s %.200s", answer.Status, told)
		}
		if bytes.Contains(told, []byte(`"submission-settled"`)) {
			if !bytes.Contains(told, []byte(`"completed"`)) {
				return fmt.Errorf("settled: %.300s", told)
			}
			return nil
		}
		offset = answer.Header.Get("Stream-Next-Offset")
	}
}

// tenant is somebody else, who prompts all the time.
type tenant struct {
	*guest
	times
	failed map[string]int
}

// work prompts until the channel is done, and tells what that was told.
func (tn *tenant) work(ctx context.Context, done <-chan seen) seen {
	tn.times, tn.failed = times{}, map[string]int{}
	for n := 0; ; n++ {
		select {
		case all := <-done:
			return all
		case <-time.After(15 * time.Millisecond):
		}
		done, id := tn.begin(), "chat"+strconv.Itoa(n%16)
		offset, err := tn.prompt(ctx, id, "n=1")
		if err == nil {
			err = tn.settled(ctx, id, offset)
		}
		if err != nil {
			tn.failed[err.Error()]++
			continue
		}
		done()
	}
}

// metrics are the numbers that the service tells of itself.
func (s *server) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	answer, err := http.Get("http://" + s.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), " "); found && !strings.HasPrefix(line, "#") {
			all[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all
}

// gauge watches what the service holds until it is stopped, and says how much that was at most, in MiB.
func (s *server) gauge(t *testing.T) (stop func() int) {
	t.Helper()
	ended, most := make(chan struct{}), 0
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			most = max(most, s.status(t, "VmRSS:"))
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() int { close(ended); watching.Wait(); return most }
}

// held is what of the budget is held for somebody, in bytes. Connections are kept by who may ask again.
func held(all map[string]float64) (n float64) {
	for name, value := range all {
		if strings.HasPrefix(name, "svc_memory_held_bytes") && !strings.Contains(name, `"kept"`) && !strings.Contains(name, `"connections"`) {
			n += value
		}
	}
	return n
}

// eventually asks at a pace until something is true, and reports false when ctx ends before.
func eventually(ctx context.Context, pace time.Duration, ok func() bool) bool {
	for !ok() {
		if ctx.Err() != nil {
			return false
		}
		time.Sleep(pace)
	}
	return true
}

// returns waits until nothing is held any more and the goroutines have ended.
func (s *server) returns(t *testing.T, goroutines float64) {
	t.Helper()
	var now map[string]float64
	minute, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	returned := eventually(minute, 200*time.Millisecond, func() bool {
		now = s.metrics(t)
		return held(now) == 0 && now["go_goroutines"] <= goroutines+32
	})
	t.Logf("afterwards %v goroutines of %v before, %v bytes held, %d MiB", now["go_goroutines"], goroutines, held(now), s.status(t, "VmRSS:"))
	if !returned {
		t.Errorf("after a minute %v goroutines, %v bytes held", now["go_goroutines"], held(now))
	}
}

// shrinks waits until memory was given back to the system, but for what is kept on purpose.
func (s *server) shrinks(t *testing.T, before int) {
	t.Helper()
	now, most := 0, 0
	minutes, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	shrunk := eventually(minutes, time.Second, func() bool {
		most = max(before, 128) + int(s.metrics(t)[`svc_memory_held_bytes{use="kept"}`])>>20
		now = s.status(t, "VmRSS:")
		return now <= most
	})
	if !shrunk {
		t.Errorf("%d MiB are held four minutes later, want %d", now, most)
	}
	t.Logf("%d MiB in the end", now)
}

// longBytes is about as much as one message may have where a share is a quarter of the budget.
const longBytes = 12 << 20

// furnish gives an attacker conversations and a file that are large.
func (s *server) furnish(t *testing.T, p person, mebibytes int) {
	t.Helper()
	g, ctx := s.guest(p), t.Context()
	for range mebibytes {
		offset, err := g.prompt(ctx, "large", "n=1 "+strings.Repeat("x", 1<<20))
		if err == nil {
			err = g.settled(ctx, "large", offset)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	offset, busy, err := g.insist(ctx, "long", "n=1 "+strings.Repeat("x", longBytes)) // one message, of which a page has one at least
	if err == nil {
		err = g.settled(ctx, "long", offset)
	}
	if err != nil {
		t.Fatal(err, busy)
	}
	project := "/api/workspaces/" + p.Username + "/personal/projects"
	if answer, told, err := g.ask(ctx, http.MethodPost, project, `{"slug":"files","name":"Files"}`); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("project: %v %s %v", answer, told, err)
	}
	if answer, told, err := g.ask(ctx, http.MethodPut, p.files()+"/large", strings.Repeat("x", mebibytes<<20)); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("file: %v %s %v", answer, told, err)
	}
}

// TestHostileClientsTakeNoMoreThanThereIs attacks the running binary from all sides, while somebody else goes on working.
func TestHostileClientsTakeNoMoreThanThereIs(t *testing.T) { onEach(t, attackAll) }

func attackAll(t *testing.T, database string) {
	s := start(t, database, budget, "SVC_LIMIT_RATE=1000000", "SVC_LIMIT_BURST=1000000", "SVC_LIMIT_CHANNEL_RATE=1000000")
	tn := &tenant{guest: s.guest(s.enrol(t, 0))}
	var attackers []person
	for n := range count(8, 4) {
		attackers = append(attackers, s.enrol(t, n+1))
		s.furnish(t, attackers[n], count(8, 3))
	}
	quiet := make(chan seen, 1)
	time.AfterFunc(time.Second, func() { quiet <- nil })
	tn.work(t.Context(), quiet)
	goroutines, before := s.metrics(t)["go_goroutines"], s.status(t, "VmRSS:")
	t.Logf("before: %v goroutines, %d MiB, prompts %s, refused %v", goroutines, before, &tn.times, tn.failed)
	span := time.Duration(count(25, 3)) * time.Second
	for _, o := range []order{
		{Arm: "heads", Count: count(1000, 200), For: span},
		{Arm: "slow bodies", Count: count(64, 16), People: attackers[:1], For: span},
		{Arm: "slow bodies", Count: count(400, 60), People: attackers, For: span},
		{Arm: "unread answers", Count: count(800, 120), People: attackers, For: span},
		{Arm: "bombs", Count: count(12<<20, 1<<20), Parallel: 16, People: attackers},
		{Arm: "images", Count: count(100, 6), Parallel: 8, People: attackers, For: time.Duration(count(300, 60)) * time.Second},
	} {
		t.Run(fmt.Sprintf("%s of %d people", o.Arm, len(o.People)), func(t *testing.T) {
			stop := s.gauge(t)
			all := tn.work(t.Context(), s.send(t, o))
			most := stop()
			t.Logf("met %v; %d MiB at most; prompts %s, refused %v", all, most, &tn.times, tn.failed)
			s.judge(t, tn, all, most)
			if p99 := tn.p(99); full() && p99 > slowest {
				t.Errorf("somebody else waits %v", p99)
			}
			s.returns(t, goroutines)
		})
	}
	t.Logf("%d MiB at most of all", s.memory(t))
	if full() {
		s.shrinks(t, before)
	}
}

// judge holds what was seen to the bounds.
func (s *server) judge(t *testing.T, tn *tenant, all seen, most int) {
	t.Helper()
	if len(all) == 0 {
		t.Error("the attacker did not attack")
	}
	for what := range all {
		if strings.HasPrefix(what, "bad") {
			t.Error(what)
		}
	}
	if most >= mostMemory || s.memory(t) >= mostMemory {
		t.Errorf("%d MiB, %d at most", most, s.memory(t))
	}
	if len(tn.failed) > 0 || len(tn.took) < 10 {
		t.Errorf("%d prompts of somebody else were answered, refused: %v", len(tn.took), tn.failed)
	}
}
