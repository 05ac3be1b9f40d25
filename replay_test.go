package svc_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
)

// order is the input of a workflow whose definition changes.
type order struct {
	Fate string `json:"fate"`
}

// fates are what becomes of runs by the definition that comes, and by which fault; empty: they go on.
var fates = map[string]string{
	"kept": "", "renamed": fault.RunDefinitionChanged, "dropped": fault.RunDefinitionChanged, "refused": fault.InputValidation, "gone": fault.WorkflowNotFound,
	"panics": fault.RunDefinitionChanged, "fails": "would end at once", "waits": "", "asks": "",
}

// shipping is a workflow before its definition changes: every run of it waits for a day.
func shipping(ctx context.Context, w *svc.Work, in order) (int, error) {
	w.Log("begun", "at", w.Now())
	for _, name := range []string{"charge", "pack"} {
		if _, err := svc.Step(ctx, w, name, func(context.Context) (string, error) { return name, nil }); err != nil {
			return 0, err
		}
	}
	one, two := svc.Branch("mail", func(context.Context) (int, error) { return 1, nil }), svc.Branch("print", func(context.Context) (int, error) { return 2, nil })
	if err := svc.Parallel(ctx, w, one, two); err != nil {
		return 0, err
	}
	return one.Value + two.Value, w.Sleep(ctx, 24*time.Hour)
}

// changedOrder has a field that older inputs do not fit.
type changedOrder struct {
	Fate string `json:"fate"`
	Size int    `json:"size"`
}

// changedShipping is what the workflow becomes. What it would do beyond the record of a run is never begun.
func changedShipping(t *testing.T, asked *svc.Agent) func(context.Context, *svc.Work, order) (int, error) {
	return func(ctx context.Context, w *svc.Work, in order) (int, error) {
		unseen := func(context.Context) (string, error) {
			t.Errorf("a step of a run that is %s begins", in.Fate)
			return "", nil
		}
		mail, print := svc.Branch("mail", uncounted), svc.Branch("print", uncounted)
		w.Warn("more lines than before", "at", w.Now())
		w.Warn(strings.Repeat("long ", 10_000), "chance", w.Random())
		first := "charge"
		switch in.Fate {
		case "renamed":
			first = "bill"
		case "dropped":
			return 0, nil
		case "panics":
			panic("on purpose")
		case "fails":
			_, charged := svc.Step(ctx, w, first, unseen)
			_, packed := svc.Step(ctx, w, "pack", unseen)
			return 0, errors.Join(errors.New("on purpose"), charged, packed, svc.Parallel(ctx, w, mail, print))
		}
		for _, name := range []string{first, "pack"} {
			if got, err := svc.Step(ctx, w, name, unseen); err != nil || got != name {
				return 0, fmt.Errorf("%s gives %q, %v", name, got, err)
			}
		}
		branches := []svc.Branching{mail, print, svc.Branch("a new one", unseen)}
		if in.Fate == "waits" {
			branches = branches[:2]
		}
		if in.Fate == "asks" {
			_, err := svc.Ask(ctx, w, asked, "a prompt that is not recorded")
			return 0, err
		}
		if err := svc.Parallel(ctx, w, branches...); err != nil {
			return 0, err
		}
		return 0, w.Sleep(ctx, time.Hour)
	}
}

func uncounted(context.Context) (int, error) { return 0, nil }

// TestARehearsalFindsWhatWouldNotGoOn has many runs and some conversations unfinished, of which a changed program breaks ten.
func TestARehearsalFindsWhatWouldNotGoOn(t *testing.T) {
	total := 50
	if os.Getenv("SVC_SOAK") != "" {
		total = 1000
	}
	sqldbtest.Each(t, func(t *testing.T, address string) {
		d := &definitions{newest: "v1", missing: map[string]bool{}}
		want := leaveUnfinished(t, address, d, total)
		before := fingerprint(t, address)
		d.change(func() { d.missing["v1"] = true })
		got := rehearsed(t, address, d)
		for _, id := range slices.Sorted(maps.Keys(want)) {
			if says, broken := got[id]; want[id] == "" && broken || want[id] != "" && !strings.Contains(says, want[id]) {
				t.Errorf("%s: %q, want %q", id, says, want[id])
			}
		}
		if len(got) != 10 {
			t.Errorf("%d would not go on, want 10", len(got))
		}
		if after := fingerprint(t, address); after != before {
			t.Errorf("the database was\n%s\nand is\n%s", before, after)
		}
	})
}

// leaveUnfinished leaves work on a database, and says what should be said of each run and conversation.
func leaveUnfinished(t *testing.T, address string, d *definitions, total int) map[string]string {
	t.Helper()
	want := map[string]string{}
	p := scripted.Choose(func(model.Request) scripted.Turn {
		return scripted.Turn{scripted.Fail(&model.Error{Class: model.Network, Message: "cut"})}
	})
	_, configure := talking(p)
	n := start(t, address, func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("ship", shipping), svc.NewWorkflow("gone", shipping), svc.NewWorkflow("refused", shipping))
	}, configure, func(c *svc.Config) { c.Resolve, c.Park, c.ModelRetry = d.resolve, time.Nanosecond, 24*time.Hour })
	broken := []string{"renamed", "renamed", "dropped", "refused", "refused", "gone", "gone", "panics", "fails"}
	for i := range total - len(broken) {
		broken = append(broken, []string{"kept", "waits", "asks"}[i%3])
	}
	for _, fate := range broken {
		name := "ship"
		if fate == "gone" || fate == "refused" {
			name = fate
		}
		want[n.invoke(t, name, order{fate})] = fates[fate]
	}
	waits := func(all int) {
		t.Helper()
		eventually(t, "all of it waits for its time", func() bool {
			parked, err := parkedWork(t, n.store)
			return err == nil && parked == all
		})
	}
	n.prompt(t, "old", "hi")
	waits(total + 1)
	d.change(func() { d.newest = "v2" })
	n.prompt(t, "new", "hi")
	waits(total + 2)
	want["old"], want["new"] = fault.AgentNotFound, ""
	n.stop()
	return want
}

// parkedWork counts what nobody works on and what began.
func parkedWork(t *testing.T, store *sqlstore.Store) (n int, err error) {
	for l, err := range store.Unfinished(t.Context()) {
		if err != nil {
			return 0, err
		}
		if l.Tail.Head >= 0 && l.Reason != "" {
			n++
		}
	}
	return n, nil
}

// rehearsed is what a changed program says of what is unfinished, by id; what goes on is not there.
func rehearsed(t *testing.T, address string, d *definitions) map[string]string {
	t.Helper()
	store, err := sqlstore.OpenReader(t.Context(), address, sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rt, err := svc.New(svc.Config{Store: store, Resolve: d.resolve, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	asked := &svc.Agent{Name: "asked", Model: "scripted/test", For: func(context.Context, string, string) (*svc.Agent, error) {
		t.Error("an agent is made for a prompt that is never asked")
		return nil, nil
	}}
	rt.AddWorkflow(
		svc.NewWorkflow("ship", changedShipping(t, asked)),
		svc.NewWorkflow("refused", func(context.Context, *svc.Work, changedOrder) (int, error) { return 0, nil }),
	)
	got := map[string]string{}
	for l, err := range store.Unfinished(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if why := rt.Rehearse(t.Context(), l); why != nil {
			got[l.Stream.ID] = fmt.Sprintf("%s: %v", fault.From(why).Type, why)
		}
	}
	return got
}

// fingerprint is what a database holds: of SQLite its file, of PostgreSQL the rows of all tables.
func fingerprint(t *testing.T, address string) string {
	t.Helper()
	if path, isFile := strings.CutPrefix(address, "sqlite:"); isFile {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", sha256.Sum256(data))
	}
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all strings.Builder
	err = db.Snapshot(t.Context(), func(tx *sqldb.Tx) error {
		tables, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`)
		for _, table := range tables {
			var sum string
			if err := tx.QueryRow(`SELECT md5(COALESCE(string_agg(t::text, E'\n' ORDER BY t::text), '')) || ' ' || count(*) FROM ` + table + ` t`).Scan(&sum); err != nil {
				return err
			}
			fmt.Fprintln(&all, table, sum)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
