package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Talk is prompts that are sent by so many at a time, each of whom waits until what it sent has settled.
type Talk struct {
	Writers  int
	Same     bool          // all prompt one instance, and another after some turns; else every prompt has its own
	Followed bool          // each is read over SSE until it settles; else nothing is read
	Most     time.Duration // CPU on SQLite, the target; zero: none
	Whole    time.Duration // and on PostgreSQL, with its own
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

// talks are what is measured, each with replies of twenty pieces.
var talks = []Talk{
	{Writers: 1, Most: 1200 * time.Microsecond},
	{Writers: 16, Most: 800 * time.Microsecond},
	{Writers: 64, Most: 350 * time.Microsecond, Whole: 600 * time.Microsecond},
	{Writers: 16, Same: true, Most: 1300 * time.Microsecond},
	{Writers: 16, Followed: true, Most: 1300 * time.Microsecond}, // with the serving of a reader
}

// turns is how often each of those who share an instance prompts it. What the model is given grows with every one: without
// a bound a faster machine would have longer conversations, and pay more for each prompt.
const turns = 40

// measurePrompts prompts an agent whose model costs nothing, and waits for each settlement.
func measurePrompts(ctx context.Context, b *Bench, db Database) error {
	d := pick(b, 4*time.Second, 800*time.Millisecond)
	return b.withServer(ctx, db, Setting{}, func(s *Server) error {
		for _, t := range talks {
			if _, err := t.run(ctx, s, d/5); err != nil { // not counted
				return err
			}
			done, err := t.run(ctx, s, d)
			if err != nil {
				return err
			}
			row := Row{
				Measurement: fmt.Sprintf("prompts of 20 deltas to their settlement, %s, %s", db.Name, t),
				Figure:      fmt.Sprintf("%s/s, %s server CPU each", count(done.perSecond()), ms(done.cpu())),
				Beside: fmt.Sprintf("admitted %s; settled %s; %.1f appends each",
					done.admitted, done.settled, done.each(done.Appends)),
			}
			if done.Database > 0 {
				row.Figure += fmt.Sprintf(", %s with PostgreSQL's", ms(done.whole()))
			}
			switch {
			case db.Name == sqlite && t.Most > 0:
				row.Target, row.Met = "≤ "+ms(t.Most)+" server CPU", met(done.cpu() <= t.Most)
			case db.Name == postgres && t.Whole > 0:
				row.Target, row.Met = "≤ "+ms(t.Whole)+" with PostgreSQL's", met(done.whole() <= t.Whole)
			}
			b.Report.add(row)
		}
		return nil
	})
}

// Talked is what came of it.
type Talked struct {
	Spent
	admitted times
	settled  times // from the sending of a prompt to its settlement
}

// talked numbers what sends prompts, so that no two share an instance.
var talked atomic.Int64

// run sends prompts for a while.
func (t Talk) run(ctx context.Context, s *Server, d time.Duration) (done Talked, err error) {
	settled, close, err := t.settled(ctx, s)
	if err != nil {
		return done, err
	}
	defer close()
	wires, closeAll, err := dialAll(s.Door, t.Writers)
	if err != nil {
		return done, err
	}
	defer closeAll()
	own, admitted := talked.Add(1), make([][]time.Duration, t.Writers)
	done.Spent, err = s.spend(ctx, func() (int, error) {
		done.settled, err = drive(ctx, t.Writers, d, func(i int) error {
			id := fmt.Sprintf("%d-%d-%d", own, i, len(admitted[i]))
			if t.Same {
				id = fmt.Sprintf("%d-%d", own, len(admitted[i])/turns)
			}
			asked := time.Now()
			p, err := wires[i].prompt(id, usualPrompt)
			if err != nil {
				return err
			}
			admitted[i] = append(admitted[i], time.Since(asked))
			return settled(id, p)
		})
		return len(done.settled), err
	})
	done.admitted = sorted(admitted...)
	return done, err
}

// settled is how it is known that a prompt has settled: by whoever follows it, or by what the server tells of all.
func (t Talk) settled(ctx context.Context, s *Server) (wait func(id string, p Prompted) error, close func(), err error) {
	if t.Followed {
		wait = func(id string, p Prompted) error { return readUpdates(s.Door, id, p.Offset, saysSettled, nil) }
		return wait, func() {}, nil
	}
	heard, err := hearSettlements(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	return func(_ string, p Prompted) error { return heard.wait(p.SubmissionID) }, heard.close, nil
}

// promptFsyncs is the target of fsyncs of a prompt on SQLite, at concurrency 64.
const promptFsyncs = 0.2

// measureFsyncs counts how often a prompt makes the disk durable, on a server that strace watches for that alone. Its
// figures for time are then not worth having.
func measureFsyncs(ctx context.Context, b *Bench, db Database) error {
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
	trace := filepath.Join(b.Folder, "fsyncs")
	watch := []string{strace, "-f", "--seccomp-bpf", "-qq", "-e", "trace=fsync,fdatasync", "-o", trace}
	return b.withServer(ctx, db, Setting{Under: watch}, func(s *Server) error {
		before, err := countFsyncs(trace)
		if err != nil {
			return err
		}
		done, err := Talk{Writers: 64}.run(ctx, s, pick(b, 2*time.Second, 800*time.Millisecond))
		if err != nil {
			return err
		}
		after, err := countFsyncs(trace)
		fsyncs := done.each(int64(after - before))
		row.Figure = fmt.Sprintf("%.3f each, of %s prompts", fsyncs, count(done.N))
		row.Beside = fmt.Sprintf("%.2f admissions and appends each", done.each(done.Admits+done.Appends))
		row.Met = met(fsyncs < promptFsyncs)
		b.Report.add(row)
		return err
	})
}

// countFsyncs counts the calls of a trace so far. A call that another thread's interrupts is told in two lines, of which the
// second does not open a parenthesis.
func countFsyncs(trace string) (int, error) {
	text, err := os.ReadFile(trace)
	return bytes.Count(text, []byte("sync(")), err
}
