package outage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/critic"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/workflow"
)

// observer reads what is on record, by a way of its own to the database.
type observer struct {
	t     testing.TB
	store *sqlstore.Store
	rt    *svc.Runtime
}

func observe(t testing.TB, address string) *observer {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), address, sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	rt, err := svc.New(svc.Config{Store: store, Node: "observer"})
	if err != nil {
		t.Fatal(err)
	}
	return &observer{t, store, rt}
}

func within(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}

// run is a run as it stands.
func (o *observer) run(id string) workflow.Run {
	o.t.Helper()
	ctx, cancel := within(10 * time.Second)
	defer cancel()
	run, err := o.rt.GetRun(ctx, id)
	if err != nil {
		o.t.Fatalf("run %s: %v", id, err)
	}
	return run
}

// over reports whether a run has ended.
func (o *observer) over(id string) bool { return o.run(id).Status != workflow.Active }

// idle reports whether all of an instance's submissions have settled.
func (o *observer) idle(agent, instance string) bool {
	o.t.Helper()
	ctx, cancel := within(10 * time.Second)
	defer cancel()
	queue, err := o.rt.Submissions(ctx, agent, instance)
	if err != nil {
		o.t.Fatalf("submissions of %s: %v", instance, err)
	}
	return len(queue) == 0
}

// readRun demands that a run has ended completed with this result, and is told well.
func (o *observer) readRun(id, result string) *critic.Tale {
	o.t.Helper()
	ctx, cancel := within(30 * time.Second)
	defer cancel()
	story, err := critic.StoryOf(ctx, o.rt, o.run(id))
	if err != nil {
		o.t.Fatalf("run %s: %v", id, err)
	}
	tale := critic.Read(story)
	if tale.Record.Status != "completed" || string(tale.Record.Result) != result {
		tale.Problem("ended %s with %s, error %s; want completed with %s", tale.Record.Status, tale.Record.Result, critic.Print(tale.Record.Error), result)
	}
	if len(tale.Problems) > 0 {
		o.t.Errorf("run %s:\n- %s\nevents\n  %s", id, strings.Join(tale.Problems, "\n- "), strings.Join(tale.Short(), "\n  "))
	}
	return tale
}

// readChat demands that exactly these submissions of an instance have settled, in this order, completed, and are told well.
func (o *observer) readChat(agent, instance string, ids []string) *critic.Critique {
	o.t.Helper()
	ctx, cancel := within(30 * time.Second)
	defer cancel()
	chat, err := critic.ChatOf(ctx, o.rt, o.store, agent, instance)
	if err != nil {
		o.t.Fatalf("conversation %s: %v", instance, err)
	}
	c := critic.Judge(chat)
	if critic.Print(c.Settled) != critic.Print(ids) {
		c.Problem("settled are %v, admitted were %v", c.Settled, ids)
	}
	for _, r := range c.Records {
		if r.Settlement != nil && r.Settlement.Outcome != "completed" {
			c.Problem("submission %s settled %s", r.Settlement.Submission, critic.Print(r.Settlement))
		}
	}
	if len(c.Problems) > 0 {
		o.t.Errorf("conversation %s:\n- %s\nlog\n  %s", instance, strings.Join(c.Problems, "\n- "), c.Retold())
	}
	return c
}

// settled are the submissions of an instance that have, in order.
func (o *observer) settled(agent, instance string) []string {
	o.t.Helper()
	ctx, cancel := within(30 * time.Second)
	defer cancel()
	chat, err := critic.ChatOf(ctx, o.rt, o.store, agent, instance)
	if err != nil {
		o.t.Fatalf("conversation %s: %v", instance, err)
	}
	return critic.Judge(chat).Settled
}

// listed are the ids of all runs.
func (o *observer) listed() (ids []string) {
	o.t.Helper()
	var f svc.RunFilter
	for {
		ctx, cancel := within(10 * time.Second)
		page, err := o.rt.ListRuns(ctx, f)
		cancel()
		if err != nil {
			o.t.Fatalf("list runs: %v", err)
		}
		for _, run := range page.Runs {
			ids = append(ids, run.RunID)
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return ids
		}
	}
}
