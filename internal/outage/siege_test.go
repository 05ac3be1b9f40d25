package outage_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/outage/cluster"
	"svc.dev/svc/internal/outage/proxy"
)

// siege is two nodes under load, and a calamity. Clients prompt with and without images, start runs that sleep, and follow
// all of it; every request is repeated under its key until it is answered.
type siege struct {
	t        *testing.T
	cluster  *cluster.Cluster
	database string // its name
	role     string // whom the nodes are
	direct   string // the database's address for the nodes, without a proxy
	proxies  []*proxy.Proxy
	nodes    []*process
	setup    setup

	load    sync.WaitGroup
	over    chan struct{} // closed when the clients shall stop
	readers sync.WaitGroup
	leave   context.CancelFunc // ends the readers

	mu        sync.Mutex
	chats     map[string]*chat
	runs      map[string]*started
	refused   int            // 503, to be tried again
	unheard   int            // no answer
	odd       map[string]int // other answers
	following context.Context
}

// chat is an instance that one client prompts.
type chat struct {
	ids      []string
	follower *follower
}

// started is a run that was admitted.
type started struct {
	result   string
	follower *follower
}

func newSiege(t *testing.T, c *cluster.Cluster) *siege {
	t.Helper()
	g := &siege{
		t: t, cluster: c, over: make(chan struct{}), chats: map[string]*chat{}, runs: map[string]*started{}, odd: map[string]int{},
		setup: setup{Diary: filepath.Join(t.TempDir(), "diary"), Lease: 3 * time.Second},
	}
	g.following, g.leave = context.WithCancel(context.Background())
	t.Cleanup(g.leave)
	u, err := url.Parse(c.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	g.database, g.role = strings.TrimPrefix(u.Path, "/"), "r"+strings.TrimPrefix(u.Path, "/")
	g.must("CREATE ROLE " + g.role + " LOGIN")
	g.must("ALTER DATABASE " + g.database + " OWNER TO " + g.role)
	u.User = url.User(g.role)
	g.direct = u.String()
	for _, name := range []string{"a", "b"} {
		p := proxy.Start(t, g.direct)
		s := g.setup
		s.Name, s.Address = name, p.Address()
		g.proxies, g.nodes = append(g.proxies, p), append(g.nodes, startNode(t, s))
	}
	return g
}

// must runs a statement as the server's owner.
func (g *siege) must(statement string) {
	g.t.Helper()
	if err := g.cluster.Execute("postgres", statement); err != nil {
		g.t.Fatalf("%s: %v", statement, err)
	}
}

// endSessions ends every session of the nodes.
func (g *siege) endSessions() {
	g.t.Helper()
	g.must("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + g.role + "'")
}

// begin sends the clients.
func (g *siege) begin() {
	for i := range 4 {
		g.load.Go(func() { g.prompt(fmt.Sprintf("words-%d", i), nil) })
	}
	for i := range 2 {
		g.load.Go(func() { g.prompt(fmt.Sprintf("image-%d", i), []byte("\x89PNG of "+rand.Text())) })
	}
	g.load.Go(func() { g.invoke("steps", climbing{N: 3, Sleep: 20}, `{"sum":3}`) })
	g.load.Go(func() { g.invoke("doze", dozing{Millis: 300, Times: 2}, `"slept"`) })
}

type climbing struct {
	N     int `json:"n"`
	Sleep int `json:"sleep"`
}

func (g *siege) isOver() bool {
	select {
	case <-g.over:
		return true
	case <-time.After(time.Duration(20+mathrand.IntN(60)) * time.Millisecond):
		return false
	}
}

// prompt talks to one instance after another, some prompts each, from node to node.
func (g *siege) prompt(name string, image []byte) {
	for i := 0; !g.isOver(); i++ {
		instance := fmt.Sprintf("%s-%d", name, i/8)
		key := fmt.Sprintf("%s-%d", name, i)
		picture := image
		if image != nil && i%2 == 0 {
			picture = fmt.Append(image, i) // others are sent twice
		}
		body := message("n=5 delay=10", picture)
		a := g.insist(i, "/agents/assistant/"+instance, key, body)
		if a.status != http.StatusAccepted {
			return
		}
		g.mu.Lock()
		c := g.chats[instance]
		if c == nil {
			c = &chat{follower: followAgent("assistant", instance, []string{"sse", "long-poll"}[i/8%2])}
			g.chats[instance] = c
			g.readers.Go(func() { c.follower.follow(g.following, g.nodes...) })
		}
		c.ids = append(c.ids, a.id)
		g.mu.Unlock()
	}
}

// invoke starts one run after another.
func (g *siege) invoke(workflow string, input any, result string) {
	body := []byte(critic.Print(input))
	for i := 0; !g.isOver(); i++ {
		a := g.insist(i, "/workflows/"+workflow, fmt.Sprintf("%s-%d", workflow, i), body)
		if a.status != http.StatusAccepted {
			return
		}
		s := &started{result: result, follower: followRun(a.id, []string{"sse", "long-poll"}[i%2])}
		g.mu.Lock()
		if g.runs[a.id] != nil {
			g.odd[fmt.Sprintf("run %s was promised twice", a.id)]++
		}
		g.runs[a.id] = s
		g.readers.Go(func() { s.follower.follow(g.following, g.nodes...) })
		g.mu.Unlock()
	}
}

// insist repeats a request, at one node and the other, until it is answered for good. It gives up long after the siege.
func (g *siege) insist(first int, path, key string, body []byte) (a answer) {
	for try := 0; ; try++ {
		a = g.nodes[(first+try)%len(g.nodes)].do(http.MethodPost, path, key, body, wait)
		if a.status == http.StatusAccepted {
			return a
		}
		g.mu.Lock()
		switch {
		case a.err != nil:
			g.unheard++
		case a.unavailable():
			g.refused++
		default:
			g.odd[fmt.Sprintf("POST %s: %d %.300s", path[:strings.LastIndex(path, "/")], a.status, a.body)]++
		}
		g.mu.Unlock()
		select {
		case <-time.After(50 * time.Millisecond):
		case <-g.following.Done():
			return a
		}
	}
}

// settle waits until all that was promised has come true, and demands that it did once.
func (g *siege) settle(limit time.Duration) {
	g.t.Helper()
	close(g.over)
	stopped := make(chan struct{})
	go func() {
		g.load.Wait()
		close(stopped)
	}()
	until(g.t, limit, "the clients have their last answers", func() bool { return isClosed(stopped) }, g.complaints)
	began := time.Now()
	o := observe(g.t, g.direct)
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.runs {
		until(g.t, limit, "run "+id+" ends", func() bool { return o.over(id) }, g.complaints)
	}
	for instance := range g.chats {
		until(g.t, limit, "instance "+instance+" is idle", func() bool { return o.idle("assistant", instance) }, g.complaints)
	}
	took := time.Since(began)
	g.judge(o)
	for what, n := range g.odd {
		g.t.Errorf("%d times: %s", n, what)
	}
	g.t.Logf("%d prompts to %d instances, %d runs; %d requests refused for now, %d without an answer; all had settled after %s",
		g.prompts(), len(g.chats), len(g.runs), g.refused, g.unheard, seconds(took))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (g *siege) complaints() string {
	var text strings.Builder
	for _, n := range g.nodes {
		fmt.Fprintf(&text, "\nnode %s said\n%s", n.name, n.Complaints())
	}
	return text.String()
}

func (g *siege) prompts() (n int) {
	for _, c := range g.chats {
		n += len(c.ids)
	}
	return n
}

// judge reads everything, and compares it with what was promised and what the followers saw.
func (g *siege) judge(o *observer) {
	g.t.Helper()
	for instance, c := range g.chats {
		read := o.readChat("assistant", instance, c.ids)
		last := read.Told.Pages[len(read.Told.Pages)-1].Next
		until(g.t, 30*time.Second, "the follower of "+instance+" has seen all", func() bool { return c.follower.at() >= last }, g.complaints)
		before := len(read.Problems)
		read.CheckAudience(c.follower.pages)
		g.report(instance, read.Problems[before:], c.follower)
	}
	for id, s := range g.runs {
		o.readRun(id, s.result)
		until(g.t, 30*time.Second, "the follower of run "+id+" has seen all", s.follower.isClosed, g.complaints)
		g.report("run "+id, g.compare(o, id, s.follower), s.follower)
	}
	g.checkRuns(o)
}

// report tells what a follower saw that is not so; what it should not have been told is counted.
func (g *siege) report(of string, problems []string, f *follower) {
	g.t.Helper()
	if len(problems) > 0 {
		g.t.Errorf("the follower of %s:\n- %s", of, strings.Join(problems, "\n- "))
	}
	for _, problem := range f.problems {
		g.odd[problem]++
	}
}

// compare demands that a follower saw each event once.
func (g *siege) compare(o *observer, id string, f *follower) (problems []string) {
	ctx, cancel := within(10 * time.Second)
	defer cancel()
	events, _, err := critic.EventsOf(ctx, o.rt, o.run(id))
	if err != nil {
		return []string{err.Error()}
	}
	seen := f.seen()
	if len(seen) != len(events) {
		return []string{fmt.Sprintf("saw %d events of %d", len(seen), len(events))}
	}
	for i := range events {
		if !bytes.Equal(seen[i], events[i]) {
			return []string{fmt.Sprintf("saw %s, which is %s", seen[i], events[i])}
		}
	}
	return nil
}

// checkRuns demands that the runs there are and those that were promised are the same.
func (g *siege) checkRuns(o *observer) {
	g.t.Helper()
	listed := o.listed()
	for _, id := range listed {
		if g.runs[id] == nil {
			g.t.Errorf("run %s was never promised", id)
		}
	}
	if len(listed) != len(g.runs) || len(slices.Compact(slices.Sorted(slices.Values(listed)))) != len(listed) {
		g.t.Errorf("%d runs are listed, %d were promised", len(listed), len(g.runs))
	}
}

// calamity is what befalls a siege. It takes its time, and leaves the database as it was.
type calamity struct {
	name   string
	own    bool // it needs a cluster of its own
	befall func(g *siege)
}

var calamities = []calamity{
	{name: "sessions are ended 40 times", befall: func(g *siege) {
		for range 40 {
			g.endSessions()
			takes(pick(80*time.Millisecond, 300*time.Millisecond))
		}
	}},
	{name: "the server is killed and restarted", own: true, befall: func(g *siege) {
		for i := range pick(3, 5) {
			end := []func() error{g.cluster.Kill, g.cluster.Quit}[i%2]
			if err := errors.Join(end(), g.cluster.Start()); err != nil {
				g.t.Fatal(err)
			}
			takes(pick(700*time.Millisecond, 3000*time.Millisecond))
		}
	}},
	{name: "few connections are left", befall: func(g *siege) {
		g.must("ALTER ROLE " + g.role + " CONNECTION LIMIT 3")
		g.endSessions()
		takes(pick(4*time.Second, 30*time.Second))
		g.must("ALTER ROLE " + g.role + " CONNECTION LIMIT -1")
	}},
	{name: "statements may take 3 ms", befall: statementsTimeOut},
	{name: "statements may take 3 ms, in German", befall: func(g *siege) {
		for _, p := range g.proxies {
			p.Apply(proxy.Rule{Foreign: true})
		}
		statementsTimeOut(g)
	}},
	{name: "the database is silent", befall: func(g *siege) { g.outage(partitionOf("silence")) }},
	{name: "the database is not there", befall: func(g *siege) { g.outage(partitionOf("refusal")) }},
	{name: "answers to commits are lost", befall: func(g *siege) {
		for range pick(30, 300) {
			for _, p := range g.proxies {
				p.LoseCommits(1, nil)
			}
			takes(100 * time.Millisecond)
		}
		for _, p := range g.proxies {
			p.LoseCommits(0, nil)
			if p.LostCommits() == 0 {
				g.t.Error("no answer was lost")
			}
		}
	}},
}

func statementsTimeOut(g *siege) {
	g.must("ALTER DATABASE " + g.database + " SET statement_timeout = '3ms'")
	g.endSessions()
	takes(pick(4*time.Second, 30*time.Second))
	g.must("ALTER DATABASE " + g.database + " RESET statement_timeout")
	g.endSessions()
}

// outage takes the database from both nodes for a while.
func (g *siege) outage(way partition) {
	for _, p := range g.proxies {
		if err := way.begin(p); err != nil {
			g.t.Fatal(err)
		}
	}
	takes(pick(5*time.Second, 60*time.Second))
	for _, p := range g.proxies {
		p.Heal()
	}
}

func TestNothingIsLostDoubledOrFailedWhatever(t *testing.T) {
	t.Run("happens", func(t *testing.T) {
		for _, c := range calamities {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				at := cluster.Shared(t)
				if c.own {
					at = cluster.Start(t, cluster.Options{})
				}
				g := newSiege(t, at)
				g.begin()
				takes(500 * time.Millisecond)
				c.befall(g)
				takes(500 * time.Millisecond)
				g.settle(30 * time.Second)
			})
		}
	})
}
