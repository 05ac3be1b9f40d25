// Command bench measures what the design promises, on this machine: the cost of appends, runs, steps, reads, idle
// connections, prompts and conversations, each beside the raw limit that it is held against, and of workflows beside a peer's engine. It prints
// its tables; a full run writes them to bench/RESULTS.md too.
//
// It is a module of its own, so that nothing of it is ever linked.
//
// What is measured and what loads it are processes of their own, made by running this binary again: their figures for CPU
// and memory are then theirs alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// roles are what this binary is when it runs itself.
var roles = map[string]func(ctx context.Context, args []string) error{
	"server":  serve,
	"bare":    serveBare,
	"load":    load,
	"readers": readers,
	"library": serveLibrary,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	raiseOpenFiles()
	args := os.Args[1:]
	do := bench
	if len(args) > 0 && roles[args[0]] != nil {
		do, args = roles[args[0]], args[1:]
	}
	if err := do(ctx, args); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurements are all there is, in the order of the table.
var measurements = []struct {
	name string
	do   func(ctx context.Context, b *Bench) error
}{
	{"appends", measureAppends},
	{"runs", measureRuns},
	{"steps", measureSteps},
	{"catchup", measureCatchUp},
	{"fanout", measureFanOut},
	{"idle", measureIdle},
	{"prompts", measurePrompts},
	{"admission", measureAdmission},
	{"tail", measureTail},
	{"history", measureHistory},
	{"tokens", measureTokens},
	{"conversations", measureConversations},
	{"start", measureStart},
	{"peers", measurePeers},
}

// Bench is one run of the measurements.
type Bench struct {
	Quick     bool
	Folder    string // of this run alone, removed at its end
	Profiles  string // where CPU profiles are written; empty: nowhere
	Databases []Database
	Report    Report

	self string // the binary to run again
}

const resultsFile = "bench/RESULTS.md"

// longest is how long a run may take, whatever happens.
const longest = 12 * time.Minute

func bench(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var names []string
	for _, m := range measurements {
		names = append(names, m.name)
	}
	selected := flags.String("run", "", "comma-separated measurements (default all: "+strings.Join(names, ",")+")")
	quick := flags.Bool("quick", false, "shorten everything to a minute and a half; the figures are rough")
	asJSON := flags.Bool("json", false, "print JSON instead of the table")
	folder := flags.String("dir", os.TempDir(), "folder on the disk to be measured")
	profiles := flags.String("profile", "", "write CPU profiles of what is measured into this folder")
	out := flags.String("out", "", "write the table to this file too (default "+resultsFile+" for a full run, else none)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(names, *selected)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	b, closeBench, err := open(ctx, *folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBench()) }()
	b.Quick = *quick
	if *profiles != "" {
		if b.Profiles, err = filepath.Abs(*profiles); err != nil {
			return err
		}
		if err := os.MkdirAll(b.Profiles, 0o755); err != nil {
			return err
		}
	}
	if err := b.run(ctx, chosen); err != nil {
		return err
	}
	full := !*quick && len(chosen) == len(names)
	b.Report.Header = newHeader(b, full)
	if *out == "" && full {
		*out = resultsFile
	}
	return b.Report.publish(os.Stdout, *asJSON, *out)
}

func choose(names []string, selected string) ([]string, error) {
	if selected == "" {
		return names, nil
	}
	chosen := strings.Split(selected, ",")
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("no measurement %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	return chosen, nil
}

// open makes the run's folder and databases; what it returns removes them.
func open(ctx context.Context, folder string) (*Bench, func() error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	b := &Bench{self: self}
	if b.Folder, err = os.MkdirTemp(folder, "svc-bench-"); err != nil {
		return nil, nil, err
	}
	b.Databases = []Database{sqliteIn(b.Folder)}
	if pg, err := findPostgres(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench: PostgreSQL is left out:", err)
	} else {
		b.Databases = append(b.Databases, pg)
	}
	return b, func() error { return os.RemoveAll(b.Folder) }, nil
}

// run takes the measurements one after another. One that fails leaves a row that says so: the others are worth having.
func (b *Bench) run(ctx context.Context, chosen []string) error {
	for _, m := range measurements {
		if !slices.Contains(chosen, m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", m.name)
		if err := m.do(ctx, b); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", m.name, err)
			b.Report.add(Row{Measurement: m.name, Figure: "failed: " + err.Error(), Met: no})
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// pick is the one for a full run or the one for a quick one.
func pick[T any](b *Bench, full, quick T) T {
	if b.Quick {
		return quick
	}
	return full
}

// profile is the file that a measurement's profile goes to, empty for none.
func (b *Bench) profile(parts ...any) string {
	if b.Profiles == "" {
		return ""
	}
	var names []string
	for _, p := range parts {
		names = append(names, fmt.Sprint(p))
	}
	return filepath.Join(b.Profiles, strings.Join(names, "-")+".pprof")
}
