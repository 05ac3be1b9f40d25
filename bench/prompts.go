package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The targets of prompts on SQLite, each with a reply of twenty pieces.
const (
	promptCPUAlone    = 1200 * time.Microsecond // one at a time
	promptCPU         = 800 * time.Microsecond  // at concurrency 16
	promptCPUOne      = 1300 * time.Microsecond // all to one instance
	promptCPUFollowed = 1300 * time.Microsecond // with the serving of a reader
	promptFsyncs      = 0.2                     // at concurrency 64
)

// Talk is prompts that are sent by so many at a time, each of whom waits until what it sent has settled.
type Talk struct {
	Writers  int
	Same     bool // all prompt one instance, and another after some turns; else every prompt has its own
	Followed bool // each is read over SSE until it settles; else nothing is read
}

func (t Talk) String() string {
	switch {
	case t.Same:
		return fmt.Sprintf("concurrency %d, one instance of up to %d prompts", t.Writers, t.Writers*turns)
	case t.Followed:
		return fmt.Sprintf("concurrency %d, each with one SSE reader", t.Writers)
	}
	return fmt.Sprintf("concurrency %d", t.Writers)
}

// name is for files.
func (t Talk) name() string {
	switch {
	case t.Same:
		return fmt.Sprint(t.Writers, "-same")
	case t.Followed:
		return fmt.Sprint(t.Writers, "-followed")
	}
	return fmt.Sprint(t.Writers)
}

func (t Talk) target() time.Duration {
	switch {
	case t.Same:
		return promptCPUOne
	case t.Followed:
		return promptCPUFollowed
	case t.Writers == 1:
		return promptCPUAlone
	case t.Writers == 16:
		return promptCPU
	}
	return 0
}

// turns is how often each of those who share an instance prompts it. What the model is given grows with every one: without
// a bound a faster machine would have longer conversations, and pay more for each prompt.
const turns = 40

// Talked is what came of it: the requests are prompts, and their quantiles those of admission.
type Talked struct {
	Loaded
	Settled50 time.Duration // from the sending of a prompt to its settlement
	Settled99 time.Duration
	Writes    Writes
}

// measurePrompts prompts an agent whose model costs nothing, and waits for each settlement.
func measurePrompts(ctx context.Context, b *Bench) error {
	talks := []Talk{{Writers: 1}, {Writers: 16}, {Writers: 64}, {Writers: 16, Same: true}, {Writers: 16, Followed: true}}
	for _, db := range b.Databases {
		if db.Name != "SQLite" {
			talks = []Talk{{Writers: 1}, {Writers: 16}, {Writers: 16, Followed: true}}
		}
		err := b.withServer(ctx, db, func(s *Server) error {
			for _, t := range talks {
				done, err := b.talk(ctx, s, t, b.profile("prompts", db.Name, t.name()))
				if err != nil {
					return err
				}
				b.Report.add(promptRow(db, t, done))
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return b.measureFsyncs(ctx, b.Databases[0])
}

func promptRow(db Database, t Talk, done Talked) Row {
	cpu, n := done.cpu(1), float64(done.Requests)
	row := Row{
		Measurement: fmt.Sprintf("prompts of 20 deltas to their settlement, %s, %s", db.Name, t),
		Figure:      fmt.Sprintf("%s/s, %s server CPU each", count(done.perSecond()), ms(cpu)),
		Beside: fmt.Sprintf("admitted p50 %s, p99 %s; settled p50 %s, p99 %s; %.1f appends each",
			ms(done.P50), ms(done.P99), ms(done.Settled50), ms(done.Settled99), float64(done.Writes.Appends)/n),
		Values: map[string]float64{
			"prompts": n, "perSecond": done.perSecond(), "cpuMillis": float64(cpu) / 1e6,
			"p50Millis": float64(done.P50) / 1e6, "p99Millis": float64(done.P99) / 1e6,
			"settledP50Millis": float64(done.Settled50) / 1e6, "settledP99Millis": float64(done.Settled99) / 1e6,
			"appends": float64(done.Writes.Appends) / n,
		},
	}
	if most := t.target(); db.Name == "SQLite" && most > 0 {
		row.Target, row.Met = "≤ "+ms(most)+" server CPU", met(cpu <= most)
	}
	return row
}

// talk sends prompts for a while, after a fifth of it that is not counted.
func (b *Bench) talk(ctx context.Context, s *Server, t Talk, profile string) (done Talked, err error) {
	d := pick(b, 4*time.Second, 800*time.Millisecond)
	heard, err := hearSettlements(ctx, s)
	if err != nil {
		return done, err
	}
	defer heard.close()
	if _, err := t.run(ctx, s, heard, d/5); err != nil {
		return done, err
	}
	var wrote Writes
	if err := control(ctx, s.Control, "/writes", &wrote); err != nil {
		return done, err
	}
	before, after, err := spent(ctx, s.Control, profile, func() (err error) {
		done, err = t.run(ctx, s, heard, d)
		return err
	})
	if err == nil {
		err = control(ctx, s.Control, "/writes", &done.Writes)
	}
	done.Writes.Appends -= wrote.Appends
	done.Writes.Admits -= wrote.Admits
	done.Before, done.After = before, after
	return done, err
}

// talks numbers what sends prompts, so that no two share an instance.
var talks atomic.Int64

func (t Talk) run(ctx context.Context, s *Server, heard *settlements, d time.Duration) (Talked, error) {
	var mu sync.Mutex
	var admitted, settled []time.Duration
	var failure error
	own := talks.Add(1)
	began := time.Now()
	var group sync.WaitGroup
	for i := range t.Writers {
		group.Go(func() {
			w := &talkWriter{Talk: t, to: s.Served, heard: heard, name: fmt.Sprintf("%d-%d", own, i)}
			if t.Same {
				w.name = fmt.Sprint(own)
			}
			err := w.run(ctx, began.Add(d))
			mu.Lock()
			defer mu.Unlock()
			admitted, settled = append(admitted, w.admitted...), append(settled, w.settled...)
			failure = cmp.Or(failure, err)
		})
	}
	group.Wait()
	slices.Sort(admitted)
	slices.Sort(settled)
	return Talked{
		Loaded:    Loaded{Requests: len(settled), Took: time.Since(began), P50: quantile(admitted, 0.5), P99: quantile(admitted, 0.99)},
		Settled50: quantile(settled, 0.5), Settled99: quantile(settled, 0.99),
	}, failure
}

// talkWriter is one who prompts.
type talkWriter struct {
	Talk
	to    string
	heard *settlements
	name  string

	admitted []time.Duration
	settled  []time.Duration
}

func (w *talkWriter) run(ctx context.Context, until time.Time) error {
	conn, err := dial(w.to)
	if err != nil {
		return err
	}
	defer conn.close()
	for n := 0; ctx.Err() == nil; n++ {
		asked := time.Now()
		if asked.After(until) {
			break
		}
		id := fmt.Sprintf("%s-%d", w.name, n)
		if w.Same {
			id = fmt.Sprintf("%s-%d", w.name, n/turns)
		}
		p, err := conn.prompt(id, usualPrompt)
		if err != nil {
			return err
		}
		w.admitted = append(w.admitted, time.Since(asked))
		if w.Followed {
			if err := readReply(w.to, id, p); err != nil {
				return err
			}
		}
		if err := w.heard.wait(p.SubmissionID); err != nil {
			return err
		}
		w.settled = append(w.settled, time.Since(asked))
	}
	return nil
}

// readReply follows an instance from a prompt to its settlement, on a connection of its own.
func readReply(to, id string, p Prompted) error {
	u, err := openUpdates(to, id, p.Offset)
	if err != nil {
		return err
	}
	defer u.close()
	return u.until(saysSettled, nil)
}

// measureFsyncs counts how often a prompt makes the disk durable, on a server that strace watches for that alone. Its
// figures for time are then not worth having.
func (b *Bench) measureFsyncs(ctx context.Context, db Database) error {
	row := Row{
		Measurement: fmt.Sprintf("fsyncs of a prompt, %s, concurrency 64", db.Name),
		Target:      fmt.Sprintf("< %.1f", promptFsyncs),
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		row.Figure = "not measured: there is no strace"
		b.Report.add(row)
		return nil
	}
	done, fsyncs, err := b.countFsyncs(ctx, db, strace)
	if err != nil {
		return err
	}
	n := float64(done.Requests)
	each, writes := float64(fsyncs)/n, float64(done.Writes.Admits+done.Writes.Appends)/n
	row.Figure = fmt.Sprintf("%.3f each, of %s prompts", each, count(done.Requests))
	row.Beside = fmt.Sprintf("%.2f admissions and appends each", writes)
	row.Met, row.Values = met(each < promptFsyncs), map[string]float64{"fsyncs": each, "writes": writes}
	b.Report.add(row)
	return nil
}

func (b *Bench) countFsyncs(ctx context.Context, db Database, strace string) (done Talked, fsyncs int, err error) {
	address, drop, err := db.make(ctx)
	if err != nil {
		return done, 0, err
	}
	defer drop()
	trace := filepath.Join(b.Folder, "fsyncs")
	defer os.Remove(trace)
	p, err := startCommand(ctx, "server", []string{
		strace, "-f", "--seccomp-bpf", "-qq", "-ttt", "-e", "trace=fsync,fdatasync", "-o", trace, b.self, "server", "-db", address,
	})
	if err != nil {
		return done, 0, err
	}
	s, err := newServer(p)
	if err != nil {
		return done, 0, err
	}
	var began, ended time.Time
	heard, err := hearSettlements(ctx, s)
	if err == nil {
		defer heard.close()
		began = time.Now()
		done, err = Talk{Writers: 64}.run(ctx, s, heard, pick(b, 2*time.Second, 800*time.Millisecond))
		ended = time.Now()
	}
	if err == nil {
		err = control(ctx, s.Control, "/writes", &done.Writes)
	}
	if err := errors.Join(err, s.stop()); err != nil {
		return done, 0, err
	}
	fsyncs, err = countWithin(trace, began, ended)
	return done, fsyncs, err
}

// countWithin counts the calls that began within a time. A call that another thread's interrupts is told in two lines.
func countWithin(trace string, began, ended time.Time) (n int, err error) {
	f, err := os.Open(trace)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || !strings.Contains(fields[2], "sync(") {
			continue
		}
		seconds, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, fmt.Errorf("strace: %w", err)
		}
		if at := time.UnixMicro(int64(seconds * 1e6)); !at.Before(began) && !at.After(ended) {
			n++
		}
	}
	return n, lines.Err()
}
