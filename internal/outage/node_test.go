// Package outage_test lets nodes, networks, databases and disks fail. The test binary starts itself again as a node: a
// process that serves a Runtime over HTTP, with its database behind a proxy that does what networks do. What is promised
// must be kept, nothing may run on two nodes at once, and all goes on when the trouble is over.
package outage_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/child"
	"svc.dev/svc/internal/contract"
	"svc.dev/svc/internal/outage/cluster"
	"svc.dev/svc/internal/outage/disk"
	"svc.dev/svc/model"
	"svc.dev/svc/sqlstore"
)

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") == "1"

// pick is a count of the fast form or of the full one.
func pick[T any](fast, full T) T {
	if soak {
		return full
	}
	return fast
}

// slack is what may pass beyond what was promised between two instants. A second is enough where nothing else runs, as in the soak;
// beside other work the machine itself takes longer. What other machines had of the processors meanwhile was not ours.
func slack(from, to time.Duration) time.Duration {
	return pick(3*time.Second, time.Second) + robbery.between(from, to)
}

type tests struct{ *testing.M }

func (t tests) Run() int { return cluster.Main(t.M) }

func TestMain(m *testing.M) {
	// These tests wait most of their time.
	_ = flag.Set("test.parallel", "8")
	go robbery.watch()
	os.Exit(child.Main(tests{m}, serveNode))
}

// setup is how a node is started. Zero durations are the defaults of the product.
type setup struct {
	Address     string
	Name        string // of the node in its leases
	Diary       string // the file that tells what really happens
	Gate        string // a file that held work waits for
	Lease       time.Duration
	Poll        time.Duration
	Park        time.Duration
	StopTimeout time.Duration
	Skew        time.Duration // how far ahead the node's clock is
	Disk        bool          // SQLite's files may fail
}

// hello is the first line of a node.
type hello struct{ URL string }

// order is a line to a node; it answers with an empty one when it has obeyed.
type order struct {
	Disk     *disk.Fault
	FileSize *int64 // the longest that a file may become; negative is no bound
}

// node is the child process.
type node struct {
	setup
	diary *diary
}

func serveNode(text []byte) error {
	var n node
	err := json.Unmarshal(text, &n.setup)
	if err != nil {
		return err
	}
	if n.diary, err = openDiary(n.Diary, n.Name); err != nil {
		return err
	}
	if n.Disk {
		if err := disk.Install(); err != nil {
			return err
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := sqlstore.Open(context.Background(), n.Address, sqlstore.Config{Poll: n.Poll, Log: log})
	if err != nil {
		return err
	}
	rt, err := svc.New(n.config(store, log))
	if err != nil {
		return err
	}
	contract.Declare(rt)
	n.declare(rt)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return n.serve(ctx, rt, store)
}

func (n *node) config(store *sqlstore.Store, log *slog.Logger) svc.Config {
	c := svc.Config{
		Store: &witness{store, n.diary}, Node: n.Name, Lease: n.Lease, Park: n.Park, StopTimeout: n.StopTimeout, Log: log,
		Model: model.Providers{"scripted": contract.Models["scripted"], "held": heldModel{n}}.Find,
	}
	if n.Skew != 0 {
		c.Now = func() time.Time { return time.Now().Add(n.Skew) }
	}
	return c
}

// serve answers until the runtime has stopped; one that failed ends the process at once.
func (n *node) serve(ctx context.Context, rt *svc.Runtime, store *sqlstore.Store) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: httpapi.App(rt, httpapi.Config{LongPoll: 5 * time.Second})}
	go func() { _ = server.Serve(listener) }()
	if err := json.NewEncoder(os.Stdout).Encode(hello{"http://" + listener.Addr().String()}); err != nil {
		return err
	}
	go obey()
	if err := rt.Run(ctx); err != nil {
		return err
	}
	late, cancel := context.WithTimeout(context.Background(), rt.StopTimeout())
	defer cancel()
	return errors.Join(server.Shutdown(late), store.Close())
}

// obey carries out what the parent orders, and ends with it.
func obey() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	// A write beyond the bound shall fail, and not end the process.
	signal.Ignore(syscall.SIGXFSZ)
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			os.Exit(3)
		}
		if o.Disk != nil {
			disk.Set(*o.Disk)
		}
		if o.FileSize != nil {
			limitFiles(*o.FileSize)
		}
		_ = out.Encode(struct{}{})
	}
}

func limitFiles(size int64) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	limit.Cur = limit.Max
	if size >= 0 {
		limit.Cur = uint64(size)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
}

// witness is the node's store. It enters into the diary what is done with leases.
type witness struct {
	*sqlstore.Store
	diary *diary
}

func epoch(l svc.Lease) string { return strconv.FormatInt(l.Epoch, 10) }

func (w *witness) Admit(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	asked := instant()
	receipt, err := w.Store.Admit(ctx, a)
	if err == nil && receipt.Lease != nil {
		w.diary.enterAt(asked, claimed, a.Stream.ID, epoch(*receipt.Lease), "")
	}
	return receipt, err
}

func (w *witness) Claim(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	asked := instant()
	got, err := w.Store.Claim(ctx, o, n)
	for _, l := range got.Leases {
		w.diary.enterAt(asked, claimed, l.Stream.ID, epoch(l), "")
	}
	return got, err
}

func (w *witness) Renew(ctx context.Context, o svc.Owner, held []svc.Lease) (svc.Renewed, error) {
	asked := instant()
	got, err := w.Store.Renew(ctx, o, held)
	if err != nil || len(held) == 0 {
		return got, err
	}
	w.diary.enterAt(asked, renewed, "", strconv.Itoa(len(held)), "")
	for _, l := range got.Busy {
		w.diary.enterAt(asked, unrenewed, l.Stream.ID, epoch(l), "")
	}
	for _, l := range got.Lost {
		w.diary.enter(lost, l.Stream.ID, epoch(l), "")
	}
	return got, err
}

func (w *witness) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	asked := instant()
	appended, err := w.Store.Append(ctx, l, c)
	switch {
	case err == nil:
		w.diary.enterAt(asked, wrote, l.Stream.ID, epoch(l), "")
	case errors.Is(err, svc.ErrFenced):
		w.diary.enterAt(asked, fenced, l.Stream.ID, epoch(l), "")
	}
	return appended, err
}

// process is the parent's handle on a node.
type process struct {
	*child.Process
	t    testing.TB
	name string
	url  string
}

// startNode starts a node and returns when it serves. The test's end kills it.
func startNode(t testing.TB, s setup) *process {
	t.Helper()
	p := &process{Process: child.Start(t, s), t: t, name: s.Name}
	var first hello
	p.Hello(&first)
	p.url = first.URL
	return p
}

// order tells the node to do something and returns when it has.
func (p *process) order(o order) {
	p.t.Helper()
	if err := json.NewEncoder(p.In).Encode(o); err != nil {
		p.t.Fatalf("node %s: %v\n%s", p.name, err, p.Complaints())
	}
	var done struct{}
	if err := p.Lines.Decode(&done); err != nil {
		p.t.Fatalf("node %s: %v\n%s", p.name, err, p.Complaints())
	}
}

// pause stops the process; nothing in it can tell.
func (p *process) pause() { p.Signal(syscall.SIGSTOP) }

// resume lets a paused process go on.
func (p *process) resume() { p.Signal(syscall.SIGCONT) }

// eventually waits until something is true, and reports false when that takes too long. It is the only place that waits for
// something to happen.
func eventually(limit time.Duration, holds func() bool) bool {
	for end := time.Now().Add(limit); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// until is eventually where the test has no sense without.
func until(t testing.TB, limit time.Duration, what string, holds func() bool, tell ...func() string) {
	t.Helper()
	if eventually(limit, holds) {
		return
	}
	text := ""
	for _, fn := range tell {
		text += fn()
	}
	t.Fatalf("%s: not in %v%s", what, limit, text)
}

// lapse lets time pass since an instant.
func lapse(since, d time.Duration) {
	eventually(d+time.Second, func() bool { return instant() > since+d })
}

// takes lets a moment pass, so that things happen one after the other. Nothing is known to have happened then.
func takes(d time.Duration) { time.Sleep(d) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
