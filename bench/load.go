package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Load is requests that are sent as fast as they are answered.
type Load struct {
	Path    string
	Body    string
	Writers int // connections, each with one request at a time
	For     time.Duration
	Profile string // file for the server's CPU profile; empty: none
}

// Loaded is what came of it, within the time that was measured.
type Loaded struct {
	Requests int           `json:"requests"`
	Took     time.Duration `json:"took"`
	P50      time.Duration `json:"p50"`
	P99      time.Duration `json:"p99"`
	Before   Usage         `json:"before"` // of the server
	After    Usage         `json:"after"`
}

func (l Loaded) perSecond() float64 { return float64(l.Requests) / l.Took.Seconds() }

// cpu is what the server spent for one of n things per request.
func (l Loaded) cpu(n int) time.Duration {
	return (l.After.CPU - l.Before.CPU) / time.Duration(max(1, l.Requests*n))
}

// load loads a server from a process of its own.
func (b *Bench) load(ctx context.Context, s *Server, l Load) (done Loaded, err error) {
	p, err := b.start(ctx, "load", "-to", s.Served, "-control", s.Control, "-path", l.Path, "-body", l.Body,
		"-writers", strconv.Itoa(l.Writers), "-for", l.For.String(), "-profile", l.Profile)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.hear(&done); err != nil {
		return done, err
	}
	if done.Requests == 0 {
		return done, fmt.Errorf("no request to %s was answered in time", l.Path)
	}
	return done, nil
}

// load is the role of what loads a server. It warms up for a fifth of its time, which is not counted.
func load(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	var l Load
	to := flags.String("to", "", "server to load")
	controlled := flags.String("control", "", "its control")
	flags.StringVar(&l.Path, "path", "", "path of every request")
	flags.StringVar(&l.Body, "body", "", "body of every request")
	flags.IntVar(&l.Writers, "writers", 1, "connections")
	flags.DurationVar(&l.For, "for", time.Second, "time to measure")
	flags.StringVar(&l.Profile, "profile", "", "file for the server's CPU profile")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := untilInputEnds(ctx)
	defer cancel()
	if _, err := l.run(ctx, *to, l.For/5); err != nil {
		return err
	}
	var done Loaded
	before, after, err := spent(ctx, *controlled, l.Profile, func() (err error) {
		done, err = l.run(ctx, *to, l.For)
		return err
	})
	if err != nil {
		return err
	}
	done.Before, done.After = before, after
	return say(done)
}

// run sends requests for a while. What is under way at the end is waited for and counts, as its time does.
func (l Load) run(ctx context.Context, to string, d time.Duration) (Loaded, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failure error
	began := time.Now()
	var group sync.WaitGroup
	for range l.Writers {
		group.Go(func() {
			took, err := l.one(ctx, to, began.Add(d))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			failure = cmp.Or(failure, err)
		})
	}
	group.Wait()
	done := Loaded{Requests: len(all), Took: time.Since(began)}
	slices.Sort(all)
	done.P50, done.P99 = quantile(all, 0.5), quantile(all, 0.99)
	return done, failure
}

// one is one connection's requests, and how long each took.
func (l Load) one(ctx context.Context, to string, until time.Time) (took []time.Duration, err error) {
	w, err := dial(to)
	if err != nil {
		return nil, err
	}
	defer w.close()
	for ctx.Err() == nil {
		asked := time.Now()
		if asked.After(until) {
			break
		}
		if _, _, err := w.ask("POST", l.Path, l.Body); err != nil {
			return took, err
		}
		took = append(took, time.Since(asked))
	}
	return took, nil
}

// quantile of what is sorted; zero of nothing.
func quantile[T any](sorted []T, q float64) (v T) {
	if len(sorted) == 0 {
		return v
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// invoke starts a run, and returns its id when it has been admitted, or when it has ended.
func invoke(host, workflow string, input any, wait bool) (string, error) {
	w, err := dial(host)
	if err != nil {
		return "", err
	}
	defer w.close()
	path, body := "/workflows/"+workflow, ""
	if wait {
		path += "?wait=result"
	}
	if input != nil {
		raw, err := json.Marshal(input)
		if err != nil {
			return "", err
		}
		body = string(raw)
	}
	_, raw, err := w.ask("POST", path, body)
	if err != nil {
		return "", err
	}
	var answer struct {
		RunID string `json:"runId"`
	}
	return answer.RunID, json.Unmarshal(raw, &answer)
}
