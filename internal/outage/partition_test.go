package outage_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"svc.dev/svc/internal/outage/cluster"
	"svc.dev/svc/internal/outage/proxy"
)

// partition is a way in which a node loses its database.
type partition struct {
	name  string
	begin func(*proxy.Proxy) error
	deaf  bool // the node's statements arrive: renewals too, of which it does not learn
}

// arrives is for how long renewals may still come to the database.
func (way partition) arrives(lease time.Duration) time.Duration {
	if way.deaf {
		return lease / 2
	}
	return 0
}

func rule(r proxy.Rule) func(*proxy.Proxy) error {
	return func(p *proxy.Proxy) error {
		p.Apply(r)
		return nil
	}
}

var partitions = []partition{
	{name: "silence", begin: rule(proxy.Rule{Lose: proxy.Both})},
	{name: "stall", begin: rule(proxy.Rule{Hold: proxy.Both})},
	{name: "refusal", begin: func(p *proxy.Proxy) error {
		defer p.Cut(proxy.Reset)
		return p.Refuse()
	}},
	{name: "dead address", begin: (*proxy.Proxy).Vanish},
	{name: "answers lost", begin: rule(proxy.Rule{Lose: proxy.Server}), deaf: true},
}

func partitionOf(name string) partition {
	for _, p := range partitions {
		if p.name == name {
			return p
		}
	}
	panic("no partition " + name)
}

// pair is two nodes on one database: a by way of a proxy, b directly.
type pair struct {
	t        *testing.T
	lease    time.Duration
	proxy    *proxy.Proxy
	a, b     *process
	observer *observer
	setup    setup
	rounds   int
	probes   int
}

// defaultLease is that of the product, whose lease is not set then.
const defaultLease = 10 * time.Second

func newPair(t *testing.T, lease time.Duration) *pair {
	t.Helper()
	address := cluster.Shared(t).Database(t)
	folder := t.TempDir()
	p := &pair{t: t, lease: lease, proxy: proxy.Start(t, address), observer: observe(t, address), setup: setup{
		Diary: filepath.Join(folder, "diary"), Gate: filepath.Join(folder, "gate"), Poll: 200 * time.Millisecond,
	}}
	if lease != defaultLease {
		p.setup.Lease = lease
	}
	a, b := p.setup, p.setup
	a.Name, a.Address = "a", p.proxy.Address()
	b.Name, b.Address = "b", address
	p.a, p.b = startNode(t, a), startNode(t, b)
	return p
}

func (p *pair) diary() diaries { return readDiary(p.t, p.setup.Diary) }

// round is work that node a holds: runs and instances of agents, each at its gate.
type round struct {
	runs      []string
	deaf      string            // a run that does not heed its context
	instances map[string]string // instance → submission
}

// streams are all of the round whose work heeds its context.
func (r round) streams() []string {
	return slices.Concat(r.runs, slices.Sorted(maps.Keys(r.instances)))
}

// all are the streams of the round.
func (r round) all() []string { return append(r.streams(), r.deaf) }

// hold lets node a begin work that lasts until the gate is opened: steps, a model asked by a run, tools, models.
func (p *pair) hold(each int) round {
	p.t.Helper()
	p.rounds++
	if err := os.Remove(p.setup.Gate); err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	r := round{instances: map[string]string{}, deaf: p.a.must(p.a.invoke("hold", "", holding{Steps: 1, Deaf: true}))}
	for i := range each {
		for _, in := range []holding{{Steps: 2}, {Ask: true}} {
			r.runs = append(r.runs, p.a.must(p.a.invoke("hold", "", in)))
		}
		for _, kind := range []string{"tool", "model"} {
			instance := fmt.Sprintf("%s-%d-%d", kind, p.rounds, i)
			r.instances[instance] = p.a.must(p.a.prompt("holder", instance, kind+" "+instance, "", nil))
		}
	}
	p.allBegan(r, "a", 10*time.Second, instant())
	return r
}

// allBegan waits until work on every stream of the round has begun at a node.
func (p *pair) allBegan(r round, node string, limit, since time.Duration) {
	p.t.Helper()
	missing := ""
	until(p.t, limit, "all work begins at node "+node, func() bool {
		d := p.diary()
		for _, missing = range r.all() {
			if _, ok := d.of(missing).first(node, began); !ok {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("; stream %s%s", missing, p.diary().of(missing).told(since)) })
}

// answers waits until a node admits and does work again.
func (p *pair) answers(n *process, limit time.Duration) time.Duration {
	p.t.Helper()
	since := time.Now()
	p.probes++
	instance := fmt.Sprintf("again-%s-%d", n.name, p.probes)
	var last answer
	until(p.t, limit, fmt.Sprintf("node %s works again", n.name), func() bool {
		last = n.do(http.MethodPost, "/agents/assistant/"+instance, instance, message("n=1", nil), limit)
		return last.status == http.StatusAccepted
	}, func() string { return fmt.Sprintf("\nit answered %v\n%s", last, n.Complaints()) })
	until(p.t, limit, "its work ends", func() bool { return p.observer.idle("assistant", instance) })
	return time.Since(since)
}

// settle waits until all of the round has ended, and demands that it did once, and well.
func (p *pair) settle(r round, limit time.Duration) {
	p.t.Helper()
	for _, id := range append(r.runs, r.deaf) {
		until(p.t, limit, "run "+id+" ends", func() bool { return p.observer.over(id) }, func() string { return p.diary().of(id).told(instant()) })
		p.observer.readRun(id, `"held"`)
	}
	for instance, submission := range r.instances {
		until(p.t, limit, "instance "+instance+" is idle", func() bool { return p.observer.idle("holder", instance) }, func() string {
			return p.diary().of(instance).told(instant())
		})
		p.observer.readChat("holder", instance, []string{submission})
	}
}

// margin is how long before a lease can be another's its work must have stopped: the law says a fifth of the lease, half of
// which a busy machine may use up. What other machines had of the processors meanwhile kept nobody from stopping but us.
func (p *pair) margin(from, to time.Duration) time.Duration {
	return max(0, p.lease/10-robbery.between(from, to))
}

// gap is what was measured of streams that moved, at the latest.
type gap struct {
	stopped time.Duration // after the last renewal was asked for
	moved   time.Duration // likewise
}

func (g gap) worse(other gap) gap {
	return gap{max(g.stopped, other.stopped), max(g.moved, other.moved)}
}

// checkHandOver demands of each stream that its work at node a stopped before b's could begin, and that b's began soon: late
// is how much later than the last renewal that node a knows of there may have been one. The first that is not so speaks
// for all.
func (p *pair) checkHandOver(r round, since, late time.Duration) (worst gap) {
	p.t.Helper()
	all := p.diary()
	wrong := 0
	for _, s := range r.streams() {
		d := all.of(s)
		g, problem := p.handOver(all, d, late)
		if problem != "" {
			if wrong++; wrong == 1 {
				p.t.Errorf("stream %s %s%s", s, problem, d.told(since))
			}
		}
		worst = worst.worse(g)
	}
	if wrong > 1 {
		p.t.Errorf("so it is with %d of %d streams", wrong, len(r.streams()))
	}
	return worst
}

// handOver measures how one stream moved, and says what is wrong with that.
func (p *pair) handOver(all, d diaries, late time.Duration) (g gap, problem string) {
	taken, ok := d.first("b", claimed)
	if !ok {
		return g, "was never claimed by node b"
	}
	base := p.renewal(all, d, taken.at)
	for _, x := range d.spans() {
		switch {
		case x.node == "a":
			g.stopped = max(g.stopped, x.to-base)
		case g.moved == 0:
			g.moved = x.at - base
		}
	}
	margin := p.margin(base, base+g.stopped)
	switch {
	case g.stopped > never:
		return g, fmt.Sprintf("ran on two nodes at once: node b began %s after a's last renewal, and a is still at it", seconds(g.moved))
	case g.stopped >= g.moved:
		return g, fmt.Sprintf("ran on two nodes at once: node a was at it until %s after its last renewal, b began after %s", seconds(g.stopped), seconds(g.moved))
	case g.moved-g.stopped < margin || g.stopped > p.lease-margin:
		return g, fmt.Sprintf("was let go of by node a %s after its last renewal, and went on at b after %s; the lease is %s: that is no margin of %s",
			seconds(g.stopped), seconds(g.moved), seconds(p.lease), seconds(margin))
	}
	if limit := p.lease + slack(base, base+g.moved) + late; g.moved > limit {
		return g, fmt.Sprintf("went on at node b only %s after a's last renewal, want at most %s", seconds(g.moved), seconds(limit))
	}
	return g, ""
}

// renewal is when node a last asked for a lease that it got, before another had the stream.
func (p *pair) renewal(all, d diaries, taken time.Duration) (at time.Duration) {
	skipped := map[time.Duration]bool{}
	for _, e := range d {
		if e.what == unrenewed {
			skipped[e.at] = true
		}
	}
	for _, e := range all {
		own := e.what == renewed && !skipped[e.at] || e.what == claimed && e.stream == d[0].stream
		if e.node == "a" && own && e.at < taken {
			at = max(at, e.at)
		}
	}
	return at
}

// checkSilent demands that node a neither wrote nor began anything in streams that b works on.
func (p *pair) checkSilent(r round, since time.Duration) {
	p.t.Helper()
	all := p.diary()
	for _, s := range r.all() {
		d := all.of(s)
		first, ok := d.first("b", began)
		if !ok {
			continue
		}
		for _, e := range d.since(first.at) {
			if e.node == "a" && (e.what == wrote || e.what == began) {
				p.t.Errorf("stream %s: node a %s %s after b had begun%s", s, e.what, e.label, d.told(since))
				return
			}
		}
	}
}

// partitionOnce cuts node a off while it works, lets b take over, and heals.
func (p *pair) partitionOnce(way partition) gap {
	p.t.Helper()
	r := p.hold(2)
	takes(rand.N(p.lease * 3 / 10)) // at any time between two renewals
	since := instant()
	if err := way.begin(p.proxy); err != nil {
		p.t.Fatal(err)
	}
	late := way.arrives(p.lease)
	p.allBegan(r, "b", p.lease+late+5*time.Second, since)
	lapse(since, p.lease+time.Second) // longer than node a may still be at work
	worst := p.checkHandOver(r, since, late)
	p.proxy.Heal()
	if p.t.Failed() {
		p.t.Fatalf("node a said\n%s", p.a.Complaints())
	}
	p.answers(p.a, 10*time.Second)
	openGate(p.t, p.setup)
	p.settle(r, 15*time.Second)
	p.checkSilent(r, since)
	return worst
}

// partitionOften does so again and again.
func (p *pair) partitionOften(way partition, times int) {
	p.t.Helper()
	var worst gap
	for range times {
		worst = worst.worse(p.partitionOnce(way))
	}
	p.t.Logf("%d times, lease %v: work had stopped %s after the last renewal, and went on elsewhere after %s, at the latest",
		times, p.lease, seconds(worst.stopped), seconds(worst.moved))
}

func TestNothingRunsOnTwoNodesWhenANodeLosesItsDatabase(t *testing.T) {
	for _, way := range partitions {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			newPair(t, 3*time.Second).partitionOften(way, pick(1, 10))
		})
	}
	// With the lease of the product, 50 times in the full form: a second is left before another may begin.
	for _, way := range pick([]partition{partitionOf("silence")}, partitions) {
		t.Run(way.name+" with the default lease", func(t *testing.T) {
			t.Parallel()
			newPair(t, defaultLease).partitionOften(way, pick(1, 10))
		})
	}
}
