package outage_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/outage/disk"
)

// host is one machine: a node on SQLite, whose disk fails on command.
type host struct {
	t     *testing.T
	setup setup

	mu       sync.Mutex
	node     *process
	promised map[string][]string // instance → submissions, in order
	runs     []string
	open     []wish   // that nobody knows of whether they were granted
	refused  []answer // that were not admissions
}

// wish is an admission that a client wants, under a key.
type wish struct {
	instance string // empty: a run
	key      string
}

func newHost(t *testing.T) *host {
	t.Helper()
	folder := t.TempDir()
	h := &host{t: t, promised: map[string][]string{}, setup: setup{
		Address: "sqlite:" + filepath.Join(folder, "svc.db"), Name: "only", Disk: true, Lease: 2 * time.Second,
		Diary: filepath.Join(folder, "diary"), Gate: filepath.Join(folder, "gate"),
	}}
	h.restart()
	return h
}

// restart starts the next node when the one before is gone.
func (h *host) restart() {
	h.t.Helper()
	next := startNode(h.t, h.setup)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.node = next
}

func (h *host) fail(f disk.Fault) { h.node.order(order{Disk: &f}) }

func (h *host) diary() diaries { return readDiary(h.t, h.setup.Diary) }

// walSize is how long the file is that every commit makes longer; the diary is shorter.
func (h *host) walSize() *int64 {
	h.t.Helper()
	info, err := os.Stat(strings.TrimPrefix(h.setup.Address, "sqlite:") + "-wal")
	if err != nil {
		h.t.Fatal(err)
	}
	size := info.Size()
	return &size
}

// load prompts and starts runs until ctx ends, each under a key until it is admitted.
func (h *host) load(ctx context.Context, clients int) (done func()) {
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			instance := "words-" + rand.Text()
			for k := 0; ctx.Err() == nil; k++ {
				h.insist(ctx, wish{instance, fmt.Sprint(k)})
				h.insist(ctx, wish{"", fmt.Sprintf("%s-%d", instance, k)})
				takes(10 * time.Millisecond)
			}
		})
	}
	return all.Wait
}

// insist repeats a wish until it is granted or ctx ends; then it stays open.
func (h *host) insist(ctx context.Context, w wish) {
	for !h.ask(w) {
		takes(20 * time.Millisecond)
		if ctx.Err() != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.open = append(h.open, w)
			return
		}
	}
}

// ask makes a wish once, and remembers what was promised and what was not.
func (h *host) ask(w wish) bool {
	h.mu.Lock()
	node := h.node
	h.mu.Unlock()
	var a answer
	if w.instance == "" {
		a = node.invoke("steps", w.key, climbing{N: 2})
	} else {
		a = node.prompt("assistant", w.instance, "n=3", w.key, nil)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case a.status != http.StatusAccepted:
		h.refused = append(h.refused, a)
		return false
	case w.instance == "":
		h.runs = append(h.runs, a.id)
	default:
		h.promised[w.instance] = append(h.promised[w.instance], a.id)
	}
	return true
}

// count is how much was promised so far.
func (h *host) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ids := range h.promised {
		n += len(ids)
	}
	return n + len(h.runs)
}

// ended reports whether a run has, as the node that serves it tells.
func (h *host) ended(run string) bool {
	a := h.node.do(http.MethodHead, "/runs/"+run, "", nil, wait)
	return a.status == http.StatusOK && a.header.Get("Stream-Closed") == "true"
}

// idle reports whether an instance has nothing to do.
func (h *host) idle(agent, instance string) bool {
	a := h.node.get("/agents/"+agent+"/"+instance+"/submissions", wait)
	return a.status == http.StatusOK && string(a.body) == `{"submissions":[]}`
}

// judge has the open wishes granted, waits until all has ended, stops the node, and reads everything.
func (h *host) judge() *observer {
	h.t.Helper()
	for _, w := range h.open {
		until(h.t, 10*time.Second, "what was left open is granted", func() bool { return h.ask(w) }, h.answers, h.node.Complaints)
	}
	for instance := range h.promised {
		until(h.t, 20*time.Second, instance+" is idle", func() bool { return h.idle("assistant", instance) }, h.node.Complaints)
	}
	for _, id := range h.runs {
		until(h.t, 20*time.Second, "run "+id+" ends", func() bool { return h.ended(id) }, h.node.Complaints)
	}
	h.node.Stop()
	o := observe(h.t, h.setup.Address)
	for instance, ids := range h.promised {
		o.readChat("assistant", instance, ids)
	}
	for _, id := range h.runs {
		o.readRun(id, `{"sum":1}`)
	}
	return o
}

// Reads that fail for longer than a lease must not leave a stream that nobody holds and nobody may claim.
func TestStreamGoesOnWhenADiskCanBeReadAgain(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	run := h.node.must(h.node.invoke("hold", "", holding{Steps: 2}))
	const instance = "model-held"
	prompted := h.node.must(h.node.prompt("holder", instance, "model "+instance, "", nil))
	// A writer works on what it has in memory, and whoever reads has to read that anew.
	chatty := h.node.must(h.node.invoke("chatty", "", map[string]int{"n": 500, "delay": 20}))
	until(t, 10*time.Second, "all is at work", func() bool {
		d := h.diary()
		return d.of(run).count(began)+d.of(instance).count(began) == 2 && d.of(chatty).count(wrote) > 5
	})
	h.fail(disk.Fault{Reads: true})
	lapse(instant(), 3*h.setup.Lease)
	h.fail(disk.Fault{})
	healed := instant()
	openGate(t, h.setup)
	tell := func(stream string) func() string {
		return func() string { return h.diary().of(stream).told(healed) + "\n" + h.node.Complaints() }
	}
	until(t, 15*time.Second, "the run ends", func() bool { return h.ended(run) }, tell(run))
	until(t, 15*time.Second, "the prompt settles", func() bool { return h.idle("holder", instance) }, tell(instance))
	until(t, 60*time.Second, "the chatty run ends", func() bool { return h.ended(chatty) }, h.node.Complaints)
	o := h.judge()
	o.readRun(run, `"held"`)
	o.readRun(chatty, `null`)
	o.readChat("holder", instance, []string{prompted})
	t.Logf("%d leases were claimed again", h.diary().count(claimed)-3)
}

// A commit of which nobody knows whether it is on disk ends the process: only a new one can know what the disk holds.
func TestFailedCommitEndsTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for range pick(1, 10) {
		h.endure(disk.Fault{Syncs: true})
	}
	h.judge()
}

// endure lets a disk fail under load, demands that the process ends, and starts the next.
func (h *host) endure(fault disk.Fault) {
	h.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := h.load(ctx, 4)
	was := h.count()
	until(h.t, 10*time.Second, "clients are at work", func() bool { return h.count() > was+20 }, h.node.Complaints)
	held := h.node.must(h.node.invoke("hold", "", holding{Steps: 1})) // it would not end by itself
	since := instant()
	h.fail(fault)
	if !eventually(40*time.Second, func() bool { return isClosed(h.node.Ended()) }) {
		h.t.Fatalf("the process has not ended after 40 s; %s\n%s", h.answers(), h.node.Complaints())
	}
	took := instant() - since
	stop()
	done()
	if took > slack(since, since+took) {
		h.t.Errorf("the process ended after %s, want at once; meanwhile %s", seconds(took), h.answers())
	}
	if h.node.Succeeded() {
		h.t.Error("the process ended as if all was well")
	}
	h.t.Logf("the process ended after %s, %d admissions were promised", seconds(took), h.count())
	h.restart()
	openGate(h.t, h.setup)
	until(h.t, 15*time.Second, "the held run ends", func() bool { return h.ended(held) }, h.node.Complaints)
	if err := os.Remove(h.setup.Gate); err != nil {
		h.t.Fatal(err)
	}
}

// answers counts what clients were told that were not admitted.
func (h *host) answers() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	kinds := map[string]int{}
	for _, a := range h.refused {
		kinds[fmt.Sprintf("%d %s", a.status, a.fault())]++
	}
	return fmt.Sprintf("clients were told %v", kinds)
}

// A full disk is no failure: SQLite takes back what does not fit. Work is refused until there is room.
func TestFullDiskRefusesAndHeals(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := h.load(ctx, 4)
	until(t, 10*time.Second, "clients are at work", func() bool { return h.count() > 20 })
	h.fail(disk.Fault{Full: true})
	lapse(instant(), pick(2*time.Second, 20*time.Second))
	if isClosed(h.node.Ended()) {
		t.Fatalf("the process ended\n%s", h.node.Complaints())
	}
	h.fail(disk.Fault{})
	was := h.count()
	until(t, 10*time.Second, "work is admitted again", func() bool { return h.count() > was+20 }, func() string { return "\n" + h.answers() })
	stop()
	done()
	if len(h.refused) == 0 {
		t.Error("nothing was refused")
	}
	for _, a := range h.refused {
		understood := a.unavailable() || a.status == http.StatusInsufficientStorage && a.fault() != ""
		if !understood || a.took > soon {
			t.Errorf("while the disk was full: %v; want 503 runtime_unavailable with Retry-After; %s", a, h.answers())
			break
		}
	}
	t.Logf("%d promised; %s", h.count(), h.answers())
	h.judge()
}

// Where writing fails SQLite takes back what it had begun, so a node may go on as on a full disk. It may as well end, but
// at once.
func TestDiskThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	any := int64(-1)
	for name, orders := range map[string]func(h *host) (fail, heal order){
		"for its own reasons": func(*host) (fail, heal order) {
			return order{Disk: &disk.Fault{Writes: true}}, order{Disk: &disk.Fault{}}
		},
		"because files may not grow": func(h *host) (fail, heal order) { return order{FileSize: h.walSize()}, order{FileSize: &any} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			done := h.load(ctx, 4)
			until(t, 10*time.Second, "clients are at work", func() bool { return h.count() > 20 })
			fail, heal := orders(h)
			h.node.order(fail)
			since := instant()
			if eventually(time.Second, func() bool { return isClosed(h.node.Ended()) }) {
				t.Logf("the process ended after %s", seconds(instant()-since))
				h.restart()
			} else {
				h.node.order(heal)
			}
			was := h.count()
			if !eventually(10*time.Second, func() bool { return h.count() > was+20 }) {
				t.Fatalf("the process did not end within a second, and does not admit work since the disk can be written again; %s\n%s", h.answers(), h.node.Complaints())
			}
			stop()
			done()
			h.judge()
		})
	}
}
