package outage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/outage/proxy"
)

// A process that was stopped for longer than its lease comes back with all its work in hand, which is another's by then.
func TestPausedNodeLetsGoOfItsWorkWithinASecond(t *testing.T) {
	t.Parallel()
	lease := pick(2*time.Second, defaultLease)
	for _, back := range []struct {
		name string
		rule proxy.Rule
	}{{"to its database", proxy.Rule{}}, {"into a partition", proxy.Rule{Lose: proxy.Both}}} {
		t.Run(back.name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, lease)
			for range pick(1, 5) {
				p.pauseOnce(back.rule)
			}
		})
	}
}

// pauseOnce stops node a until b has taken over, and lets it come back under a rule.
func (p *pair) pauseOnce(back proxy.Rule) {
	p.t.Helper()
	r := p.hold(2)
	since := instant()
	p.a.pause()
	p.allBegan(r, "b", p.lease+5*time.Second, since)
	p.proxy.Apply(back)
	resumed := instant()
	p.a.resume()
	lapse(resumed, 2*time.Second) // twice as long as it may take: what comes later is seen too
	all := p.diary()
	for _, s := range r.streams() {
		p.checkLetGo(all.of(s), s, resumed)
	}
	p.checkSilent(r, resumed)
	p.proxy.Heal()
	if p.t.Failed() {
		p.t.Fatalf("node a said\n%s", p.a.Complaints())
	}
	p.answers(p.a, 10*time.Second)
	openGate(p.t, p.setup)
	p.settle(r, 15*time.Second)
	p.checkSilent(r, resumed)
}

// checkLetGo demands that node a has stopped its work on a stream within a second.
func (p *pair) checkLetGo(d diaries, stream string, resumed time.Duration) {
	p.t.Helper()
	for _, x := range d.spans() {
		switch {
		case x.node != "a":
		case x.to > resumed+never:
			p.t.Errorf("stream %s: node a is still at %s, %s after it went on%s", stream, x.label, seconds(instant()-resumed), d.told(resumed))
		case x.to > resumed+slack(resumed, x.to):
			p.t.Errorf("stream %s: node a was at %s until %s after it went on%s", stream, x.label, seconds(x.to-resumed), d.told(resumed))
		}
	}
}

// A process that is stopped in the middle of admissions holds whatever its transactions hold.
func TestNodePausedDuringAdmissionsDelaysNobody(t *testing.T) {
	p := newPair(t, defaultLease)
	// Transactions of several statements take longer than the way there and back.
	p.proxy.Apply(proxy.Rule{Delay: 2 * time.Millisecond})
	var shared []string
	for i := range 8 {
		instance := fmt.Sprintf("shared-%d", i)
		shared = append(shared, instance)
		p.b.must(p.b.prompt("assistant", instance, "n=1000000 delay=20", "", nil))
	}
	total, each := pick(200, 1000), pick(70, 100)
	calm := p.measure("calm", each/2)
	limit := percentile(calm, 99) + time.Second
	var times []time.Duration
	for round := 0; len(times) < total; round++ {
		times = append(times, p.measurePaused(shared, round, each)...)
		if percentile(times, 95) > limit {
			break // more of it would tell no more
		}
	}
	if p99 := percentile(times, 99); p99 > limit {
		t.Errorf("p99 of %d prompts at node b is %s while a is paused, %s before: that is more than a second later; the longest took %s, the median %s",
			len(times), seconds(p99), seconds(percentile(calm, 99)), seconds(slices.Max(times)), seconds(percentile(times, 50)))
	}
	p.checkHeld()
	t.Logf("%d prompts while a node was paused: median %s, p99 %s, longest %s; p99 before %s", len(times),
		seconds(percentile(times, 50)), seconds(percentile(times, 99)), seconds(slices.Max(times)), seconds(percentile(calm, 99)))
}

// checkHeld demands that node b, which was at work all the time, lost none of its streams.
func (p *pair) checkHeld() {
	p.t.Helper()
	all := p.diary()
	for _, e := range all {
		if e.node == "b" && e.what == claimed && e.label != "1" {
			p.t.Errorf("stream %s of node b, which was at work all the time, was claimed again%s", e.stream, all.of(e.stream).told(e.at))
			return
		}
	}
}

func percentile(times []time.Duration, n int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)*n/100]
}

// measurePaused stops node a in the middle of admissions to instances that b works on, and measures prompts at b meanwhile.
func (p *pair) measurePaused(shared []string, round, n int) []time.Duration {
	p.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var load sync.WaitGroup
	for i := range 32 {
		load.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				path := "/agents/assistant/" + shared[rand.IntN(len(shared))]
				p.a.do(http.MethodPost, path, fmt.Sprintf("%d-%d-%d", round, i, k), message("n=1", nil), time.Second)
			}
		})
	}
	takes(200*time.Millisecond + rand.N(50*time.Millisecond)) // many are on their way then
	p.a.pause()
	times := p.measure(fmt.Sprintf("round-%d", round), n)
	stop()
	load.Wait()
	p.a.resume()
	p.answers(p.a, 20*time.Second)
	return times
}

// measure prompts instances of node b, some at a time, over two seconds at least, and says how long each took to settle.
func (p *pair) measure(name string, n int) (times []time.Duration) {
	p.t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	slot := make(chan struct{}, 16)
	for i := range n {
		slot <- struct{}{}
		all.Go(func() {
			defer func() { <-slot }()
			took := p.converse(fmt.Sprintf("%s-%d", name, i))
			mu.Lock()
			defer mu.Unlock()
			times = append(times, took)
		})
		takes(2 * time.Second / time.Duration(n))
	}
	all.Wait()
	return times
}

// converse prompts a new instance at node b and returns when its answer has come. What other machines had of the processors
// meanwhile is not in its time.
func (p *pair) converse(instance string) time.Duration {
	began := instant()
	a := p.b.prompt("assistant", instance, "n=1", "", nil)
	if a.status != http.StatusAccepted {
		p.t.Errorf("prompt to %s at node b: %v", instance, a)
		return a.took
	}
	if !followAgent("assistant", instance, "sse").settles(wait, p.b, a.id) {
		p.t.Errorf("instance %s at node b did not settle in %v", instance, wait)
	}
	ended := instant()
	return ended - began - min(ended-began, robbery.between(began, ended))
}
