// Command bench measures what the design promises, on this machine: the cost of appends, runs, reads, idle connections,
// prompts and conversations, each beside the raw limit that it is held against, and of workflows beside a peer's engine. It
// prints its tables; a full run writes them to bench/RESULTS.md too. The disk that is measured is that of TMPDIR.
//
// It is a module of its own, so that nothing of it is ever linked.
//
// What is measured is a process of its own, made by running this binary again: its figures for CPU and memory are then its
// alone.
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do, args := bench, os.Args[1:]
	if len(args) > 0 && args[0] == serveRole {
		do, args = serve, args[1:]
	}
	if err := do(ctx, args); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurements are all there is, in the order of the table.
var measurements = []struct {
	name string
	once bool // on the first database alone
	do   func(ctx context.Context, b *Bench, db Database) error
}{
	{name: "appends", do: measureAppends},
	{name: "runs", do: measureRuns},
	{name: "catchup", do: measureCatchUp},
	{name: "fanout", do: measureFanOut},
	{name: "idle", do: measureIdle, once: true},
	{name: "prompts", do: measurePrompts},
	{name: "gateway", do: measureGateway},
	{name: "stored", do: measureStored},
	{name: "fsyncs", do: measureFsyncs, once: true},
	{name: "admission", do: measureAdmission, once: true},
	{name: "tail", do: measureTail},
	{name: "history", do: measureHistory},
	{name: "tokens", do: measureTokens},
	{name: "start", do: measureStart, once: true},
	{name: "storedstart", do: measureStoredStart, once: true},
	{name: "typescript", do: measureTypeScript, once: true},
	{name: "peers", do: measurePeers},
}

// Bench is one run of the measurements.
type Bench struct {
	Quick     bool
	Folder    string // of this run alone, removed at its end
	Profiles  string // where CPU profiles are written; empty: nowhere
	Databases []Database
	Report    Report

	self      string // the binary to run again
	measuring string
	profiled  int // servers
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
	var b Bench
	selected := flags.String("run", strings.Join(names, ","), "comma-separated measurements")
	flags.BoolVar(&b.Quick, "quick", false, "shorten everything to a minute and a half; the figures are rough")
	flags.StringVar(&b.Profiles, "profile", "", "write a CPU profile of each server that is measured into this folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen := strings.Split(*selected, ",")
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no measurement %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := b.open(ctx, os.TempDir()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.Folder)) }()
	if err := b.run(ctx, chosen); err != nil {
		return err
	}
	full := !b.Quick && len(chosen) == len(names)
	text := b.markdown(full)
	if full {
		err = os.WriteFile(resultsFile, []byte(text), 0o644)
	}
	fmt.Print(text)
	return err
}

// open makes the run's folder and finds its databases.
func (b *Bench) open(ctx context.Context, folder string) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.Profiles != "" {
		if err := os.MkdirAll(b.Profiles, 0o755); err != nil {
			return err
		}
	}
	if b.Folder, err = os.MkdirTemp(folder, "svc-bench-"); err != nil {
		return err
	}
	b.Databases = []Database{sqliteIn(b.Folder)}
	if pg, err := findPostgres(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench: PostgreSQL is left out:", err)
	} else {
		b.Databases = append(b.Databases, pg)
	}
	return nil
}

// run takes the measurements one after another. One that fails leaves a row that says so: the others are worth having.
func (b *Bench) run(ctx context.Context, chosen []string) error {
	for _, m := range measurements {
		for i, db := range b.Databases {
			if !slices.Contains(chosen, m.name) || m.once && i > 0 {
				continue
			}
			b.measuring = m.name
			name := m.name + ", " + db.Name
			fmt.Fprintln(os.Stderr, "bench:", name)
			if err := m.do(ctx, b, db); err != nil {
				fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
				b.Report.add(Row{Measurement: name, Figure: "failed: " + err.Error(), Met: met(false)})
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
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

// profile is the file that the profile of the next server goes to, empty for none.
func (b *Bench) profile(engine string, db Database) string {
	if b.Profiles == "" {
		return ""
	}
	b.profiled++
	return filepath.Join(b.Profiles, fmt.Sprintf("%s-%s-%s-%d.pprof", b.measuring, db.Name, engine, b.profiled))
}
