package outage_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/internal/outage/cluster"
)

// crooked are three nodes on one database whose clocks do not agree.
type crooked struct {
	t        *testing.T
	nodes    map[string]*process
	observer *observer
	setup    setup
}

// skews are how far ahead the nodes' clocks are.
var skews = map[string]time.Duration{"right": 0, "behind": -90 * time.Second, "ahead": time.Hour}

func newCrooked(t *testing.T, names ...string) *crooked {
	t.Helper()
	address := cluster.Shared(t).Database(t)
	folder := t.TempDir()
	c := &crooked{t: t, nodes: map[string]*process{}, observer: observe(t, address), setup: setup{
		Address: address, Diary: filepath.Join(folder, "diary"), Gate: filepath.Join(folder, "gate"),
		Lease: 2 * time.Second, Poll: 200 * time.Millisecond, Park: time.Second,
	}}
	for _, name := range names {
		s := c.setup
		s.Name, s.Skew = name, skews[name]
		c.nodes[name] = startNode(t, s)
	}
	return c
}

func (c *crooked) diary() diaries { return readDiary(c.t, c.setup.Diary) }

// handful is how many claims a sleep may cost: one that begins it, one that goes on, and what races there are.
const handful = 5

func TestSleepTakesItsTimeWhateverTheClocksSay(t *testing.T) {
	t.Parallel()
	for _, sleep := range []struct {
		name  string
		takes time.Duration
	}{{"in memory", 800 * time.Millisecond}, {"parked", pick(4*time.Second, 40*time.Second)}} {
		t.Run(sleep.name, func(t *testing.T) {
			t.Parallel()
			c := newCrooked(t, "right", "behind", "ahead")
			began := map[string]string{}
			for name, node := range c.nodes {
				for range 3 {
					id := node.must(node.invoke("doze", "", dozing{Millis: int(sleep.takes.Milliseconds()), Times: 1}))
					began[id] = name
				}
			}
			limit := instant() + sleep.takes + 10*time.Second
			for id, name := range began {
				c.checkDoze(id, name, sleep.takes, limit)
			}
		})
	}
}

// checkDoze demands that a sleep took its time, within a second, and few claims.
func (c *crooked) checkDoze(id, name string, takes, limit time.Duration) {
	c.t.Helper()
	tell := func() string { return c.diary().of(id).told(limit) }
	if !eventually(limit-instant(), func() bool { return c.observer.over(id) }) {
		c.t.Errorf("run %s began at the node that is %s: its sleep of %s has not ended after %s; it was claimed %d times",
			id, name, seconds(takes), seconds(takes+10*time.Second), c.diary().of(id).count(claimed))
		return
	}
	d := c.diary().of(id)
	var fell, rose time.Duration
	for _, e := range d {
		switch {
		case e.what == dozed && fell == 0:
			fell = e.at
		case e.what == woke:
			rose = e.at
		}
	}
	if off := rose - fell - takes; off < -time.Second || off > slack(fell, rose) {
		c.t.Errorf("run %s began at the node that is %s: its sleep of %s took %s%s", id, name, seconds(takes), seconds(rose-fell), tell())
	}
	if n := d.count(claimed); n > handful {
		c.t.Errorf("run %s began at the node that is %s: one sleep cost %d claims", id, name, n)
	}
	c.observer.readRun(id, `"slept"`)
}

func TestLeasesHoldWhateverTheClocksSay(t *testing.T) {
	t.Parallel()
	c := newCrooked(t, "right", "behind", "ahead")
	held := map[string]string{}
	for name, node := range c.nodes {
		for i := range 2 {
			held[node.must(node.invoke("hold", "", holding{Steps: 1}))] = name
			instance := fmt.Sprintf("tool-%s-%d", name, i)
			node.must(node.prompt("holder", instance, "tool "+instance, "", nil))
			held[instance] = name
		}
	}
	start := instant()
	lapse(start, 3*c.setup.Lease)
	d := c.diary()
	for stream, name := range held {
		for _, e := range d.of(stream) {
			if e.what == claimed && (e.node != name || e.label != "1") || e.what == quit || e.what == lost {
				t.Errorf("stream %s of the node that is %s: node %s %s it%s", stream, name, e.node, e.what, d.of(stream).told(start))
				break
			}
		}
	}
	openGate(t, c.setup)
	for stream := range held {
		until(t, 10*time.Second, stream+" ends", func() bool { return c.over(stream) })
	}
}

func (c *crooked) over(stream string) bool {
	if len(stream) > 4 && stream[:4] == "run_" {
		return c.observer.over(stream)
	}
	return c.observer.idle("holder", stream)
}

// A submission's time is counted from its first claim: a node whose clock is an hour ahead, and goes on with it, must not
// find it over.
func TestWorkIsNotLateBecauseAnotherClockIsAhead(t *testing.T) {
	t.Parallel()
	c := newCrooked(t, "behind", "ahead")
	behind := c.nodes["behind"]
	const instance = "model-moved"
	id := behind.must(behind.prompt("holder", instance, "model "+instance, "", nil))
	until(t, 5*time.Second, "the model is asked", func() bool { return c.diary().of(instance).count(began) == 1 })
	behind.Signal(syscall.SIGKILL)
	until(t, 10*time.Second, "the other node goes on, or settles it", func() bool {
		_, ok := c.diary().of(instance).first("ahead", wrote)
		return ok
	}, func() string { return c.diary().of(instance).told(0) })
	openGate(t, c.setup)
	until(t, 10*time.Second, "it settles", func() bool { return c.observer.idle("holder", instance) })
	c.observer.readChat("holder", instance, []string{id})
}

// A pause that a model asked for is as long at every node.
func TestModelIsAskedAgainInTimeWhateverTheClocksSay(t *testing.T) {
	t.Parallel()
	c := newCrooked(t, "right", "behind", "ahead")
	const pause = 3 * time.Second
	waits := map[string]string{}
	for name, node := range c.nodes {
		instance := "busy-" + name
		waits[instance] = node.must(node.prompt("holder", instance, "busy "+instance+" "+strconv.Itoa(int(pause.Milliseconds())), "", nil))
	}
	limit := instant() + pause + 10*time.Second
	for instance, id := range waits {
		eventually(limit-instant(), func() bool { return c.observer.idle("holder", instance) })
		d := c.diary().of(instance)
		spans := d.spans()
		if len(spans) != 2 {
			t.Errorf("%s: the model was asked %d times in %s, want twice; the stream was claimed %d times", instance, len(spans), seconds(pause+10*time.Second), d.count(claimed))
			continue
		}
		if waited := spans[1].at - spans[0].at; waited < pause-time.Second || waited > pause+slack(spans[0].at, spans[1].at) {
			t.Errorf("%s: the model was asked again after %s, and had asked for %s%s", instance, seconds(waited), seconds(pause), d.told(spans[0].at))
		}
		if n := d.count(claimed); n > handful {
			t.Errorf("%s: one wait cost %d claims", instance, n)
		}
		c.observer.readChat("holder", instance, []string{id})
	}
}
