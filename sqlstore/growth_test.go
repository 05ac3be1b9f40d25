package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// crowd is how many streams of each kind lie in the database: parked, of workflows that nobody registered, and finished.
const crowd = 100_000

// heard is the statements that a store ran, each text once, with the arguments of its first run.
type heard struct {
	mu         sync.Mutex
	statements map[string][]any
}

func (h *heard) observe(query string, args []any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.statements[query]; !known && h.statements != nil {
		h.statements[query] = slices.Clone(args)
	}
}

func (h *heard) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.statements = map[string][]any{}
}

// TestNothingLooksAtAllThereIs runs every verb of the store beside a crowd of streams that do not concern it, and asks the
// database how it carried out each statement: no table that grows is read through. A statement that a verb gains is asked
// about without being named here.
func TestNothingLooksAtAllThereIs(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		t.Parallel()
		var h heard
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{Observe: h.observe, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
			t.Fatal(err)
		}
		gather(t, db)
		s, err := sqlstore.New(t.Context(), db, sqlstore.Config{Poll: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		o := svc.Owner{Node: "one", Boot: "boot", Workflows: []string{"refund"}, Agents: true, Lease: time.Hour}
		settle(t, s, o)
		h.begin()
		everyVerb(t, db.Dialect(), s, o)
		for _, query := range slices.Sorted(maps.Keys(h.statements)) {
			if reads := readsThrough(explain(t, db, query, h.statements[query])); reads != "" {
				t.Errorf("%s is read through by\n%s", reads, query)
			}
		}
		t.Logf("%d statements", len(h.statements))
		// Leases of what the verbs began lapse meanwhile, at any time: they are taken then, and no longer wanted.
		claim := func() {
			if _, err := s.Claim(t.Context(), o, 16); err != nil {
				t.Fatal(err)
			}
		}
		took := least(51, claim)
		t.Logf("a claim takes %s", took)
		if took > 20*time.Millisecond {
			t.Errorf("a claim takes %s beside %d streams that it does not want", took, 3*crowd)
		}
	})
}

// numbersTo counts from 1, in the words of each database.
func numbersTo(d sqldb.Dialect, n int) string {
	if d == sqldb.Postgres {
		return fmt.Sprintf("generate_series(1, %d) AS g(i)", n)
	}
	return fmt.Sprintf("(WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < %d) SELECT i FROM g) AS g", n)
}

// gather fills the database with the crowd.
func gather(t *testing.T, db *sqldb.DB) {
	t.Helper()
	now := time.Now().UnixMilli()
	lpad := "substr('00000000000000000000000000' || g.i, -26)"
	if db.Dialect() == sqldb.Postgres {
		lpad = "lpad(g.i::text, 26, '0')"
	}
	from := " FROM " + numbersTo(db.Dialect(), crowd)
	var statements []string
	for i, kind := range []struct {
		name, workflow, status, reason string
		ready                          int64
		done                           int
	}{
		{"parked", "refund", "active", "sleep", now + 3_600_000, 0},
		{"strange", "gone", "active", "", now - 3_600_000, 0},
		{"finished", "refund", "completed", "", now - 3_600_000, 1},
	} {
		first := i * crowd
		instance := "'run_" + fmt.Sprint(i) + "' || " + lpad
		statements = append(statements,
			fmt.Sprintf(`INSERT INTO streams (id, scope, kind, name, instance, head, next_seq, done_seq, ready_at, reason, used_at)%s
SELECT %d + g.i, 'acme', 'run', '%s', %s, 3, 1, %d, %d + g.i, '%s', %d`, overriding(db.Dialect()), first, kind.workflow, instance, kind.done, kind.ready, kind.reason, now)+from,
			fmt.Sprintf(`INSERT INTO submissions (stream, seq, id, kind, tail, admitted_at, outcome) SELECT %d + g.i, 0, %s, 'run', -1, %d, %s`,
				first, instance, now, map[int]string{0: "NULL", 1: "'completed'"}[kind.done])+from,
			fmt.Sprintf(`INSERT INTO runs (scope, id, stream, workflow, status, started_at) SELECT 'acme', %s, %d + g.i, '%s', '%s', %d`,
				instance, first, kind.workflow, kind.status, now)+from,
			fmt.Sprintf(`INSERT INTO batches (stream, last, part, n, at, data) SELECT %d + g.i, 3, 0, 4, %d, '%s'`, first, now, kind.name)+from,
		)
		if i > 0 {
			continue
		}
		statements = append(statements,
			fmt.Sprintf(`INSERT INTO inputs (stream, seq, data) SELECT %d + g.i, 0, 'text'`, first)+from,
			fmt.Sprintf(`INSERT INTO messages (stream, ord, kind, id, data) SELECT %d + g.i, 0, 'message', 'm', 'text'`, first)+from,
			fmt.Sprintf(`INSERT INTO blobs (stream, attachment, scope, sha256, size, mime, filename) SELECT %d + g.i, 'att', 'acme', %s, 1, '', ''`, first, lpad)+from)
		if db.Dialect() == sqldb.Postgres {
			statements = append(statements, fmt.Sprintf(`INSERT INTO blob_chunks (scope, sha256, n, at, data) SELECT 'acme', %s, 0, %d, 'x'`, lpad, now)+from)
		}
	}
	if db.Dialect() == sqldb.Postgres {
		statements = append(statements, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('streams', 'id'), %d)`, 10*crowd))
	}
	statements = append(statements,
		fmt.Sprintf(`INSERT INTO streams (scope, kind, name, instance, head, next_seq, done_seq, used_at) SELECT 'acme', 'agent', 'support', 'c' || g.i, 0, 1, 1, %d + g.i`, now)+from,
		`ANALYZE`)
	for _, statement := range statements {
		err := db.Write(sqldb.Patient(t.Context(), 5*time.Minute), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(statement)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func overriding(d sqldb.Dialect) string {
	if d == sqldb.Postgres {
		return " OVERRIDING SYSTEM VALUE"
	}
	return ""
}

// settle claims until what nobody can do is parked.
func settle(t *testing.T, s *sqlstore.Store, o svc.Owner) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		claimNothing(t, s, o)
		if parked(t, s) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("unregistered work is not parked")
		}
	}
}

// parked reports whether what nobody can do is parked, to the last of it.
func parked(t *testing.T, s *sqlstore.Store) bool {
	t.Helper()
	st := svc.Stream{Scope: "acme", Kind: svc.KindRun, Name: "gone", ID: fmt.Sprintf("run_1%026d", crowd)}
	list, err := s.Submissions(t.Context(), st)
	if err != nil || len(list) != 1 {
		t.Fatalf("submissions %v, %v", list, err)
	}
	return list[0].Reason == svc.ReasonNotRegistered
}

func claimNothing(t *testing.T, s *sqlstore.Store, o svc.Owner) {
	t.Helper()
	c, err := s.Claim(t.Context(), o, 16)
	if err != nil || len(c.Leases) != 0 {
		t.Fatalf("claimed %v, %v", c.Leases, err)
	}
}

// least is how long something takes on a machine that does nothing else: of many times the shortest.
func least(n int, do func()) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for range n {
		began := time.Now()
		do()
		shortest = min(shortest, time.Since(began))
	}
	return shortest
}

// everyVerb does once all that a store can do, and that requests or work cause.
func everyVerb(t *testing.T, d sqldb.Dialect, s *sqlstore.Store, o svc.Owner) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	talk := func(id string) svc.Stream {
		return svc.Stream{Scope: "acme", Kind: svc.KindAgent, Name: "support", ID: id}
	}
	job := func(id string) svc.Stream {
		return svc.Stream{Scope: "acme", Kind: svc.KindRun, Name: "refund", ID: id}
	}
	admit := func(st svc.Stream, id string, change func(*svc.Admission)) svc.Receipt {
		t.Helper()
		a := svc.Admission{Stream: st, Submission: id, Kind: svc.Direct, Input: []byte("{}"), Opening: []byte("open")}
		if st.Kind == svc.KindRun {
			a.Kind, a.Run, a.Opening = svc.Invoked, true, nil
		}
		if change != nil {
			change(&a)
		}
		r, err := s.Admit(ctx, a)
		must(err)
		return r
	}
	blob, err := s.Put(ctx, "acme", strings.NewReader("picture"))
	must(err)
	mine := func(a *svc.Admission) { a.Owner = &o }
	key := func(a *svc.Admission) { a.Key = &svc.Key{Name: "key " + a.Submission, Hash: []byte("h")} }
	image := func(a *svc.Admission) { a.Blobs = []svc.Attachment{{ID: "att", Blob: blob, MimeType: "image/png"}} }

	held := admit(talk("new"), "s1", mine)
	admit(talk("new"), "s2", image)
	admit(talk("new"), "s3", key)
	admit(talk("new"), "s3", key)
	admit(talk("c7"), "s1", func(a *svc.Admission) { mine(a); key(a); image(a) })
	replay := svc.Admission{Stream: talk("new"), Submission: "s3", Key: &svc.Key{Name: "key s3", Hash: []byte("h")}, Replay: true}
	_, err = s.Admit(ctx, replay)
	must(err)
	ended := admit(job("run_9a"), "run_9a", mine)
	admit(job("run_9b"), "run_9b", key)
	admit(job("run_9c"), "run_9c", nil)

	_, err = s.Append(ctx, *held.Lease, svc.Commit{Data: []byte("plain"), N: 1})
	must(err)
	appended, err := s.Append(ctx, *held.Lease, svc.Commit{
		Data: []byte("full"), N: 1, Messages: []svc.Message{{Kind: "message", ID: "m1", Data: []byte("m")}}, Settle: svc.OutcomeCompleted, Release: true,
	})
	must(err)
	_, err = s.Input(ctx, *held.Lease, *appended.Next)
	must(err)
	_, err = s.Append(ctx, *ended.Lease, svc.Commit{
		Data: []byte("end"), N: 1, Settle: svc.OutcomeFailed, Close: true, Release: true,
		Run: &workflow.Run{ID: "run_9a", Status: workflow.Errored, EndedAt: time.Now(), Error: &workflow.Error{Name: "Error"}},
	})
	must(err)
	claimed, err := s.Claim(ctx, o, 16)
	must(err)
	if len(claimed.Leases) != 2 {
		t.Fatalf("claimed %+v", claimed.Leases)
	}
	_, err = s.Claim(ctx, svc.Owner{Node: "two", Boot: "boot", Workflows: []string{"other"}}, 1)
	must(err)
	_, err = s.Renew(ctx, o, append(claimed.Leases, *held.Lease))
	must(err)
	must(s.Release(ctx, claimed.Leases[0], svc.Release{After: time.Hour, Reason: "sleep"}))
	for _, submission := range []string{"", "s2"} {
		_, err = s.Abort(ctx, talk("new"), submission)
		must(err)
	}
	woken, stop := s.Watch(svc.Topic{Stream: talk("new"), Of: svc.Head})
	defer stop()
	// What is watched is news to the first poll. SQLite has no other node to poll for.
	eventually(t, "a poll", func() bool { return d != sqldb.Postgres || len(woken) > 0 })

	_, err = s.Tail(ctx, talk("new"))
	must(err)
	for _, r := range []svc.Range{
		{After: svc.Position{Offset: stream.Start}, Through: stream.Tail, Items: 10, Bytes: 1 << 20},
		{After: svc.Position{Offset: stream.Start}, Through: stream.Tail, Items: 10, Bytes: 1 << 20, Messages: true},
	} {
		_, err = s.Read(ctx, talk("new"), r)
		must(err)
	}
	_, body, err := s.Get(ctx, talk("new"), "att")
	must(err)
	read, err := io.ReadAll(body)
	if must(err); !bytes.Equal(read, []byte("picture")) {
		t.Fatalf("read %q", read)
	}
	must(body.Close())
	_, err = s.Submissions(ctx, talk("new"))
	must(err)
	_, err = s.GetRun(ctx, "acme", "run_9a")
	must(err)
	_, _, err = s.FindRun(ctx, "acme", "run_9a")
	must(err)
	for _, status := range []workflow.Status{"", workflow.Active, workflow.Completed, workflow.Errored} {
		for _, name := range []string{"", "refund"} {
			_, err = s.ListRuns(ctx, svc.RunQuery{Scope: "acme", Status: status, Workflow: name, Limit: 20})
			must(err)
		}
		if status == workflow.Active {
			continue // of every scope: the staff's list, which sorts what is active
		}
		_, err = s.ListRuns(ctx, svc.RunQuery{All: true, Status: status, Limit: 20})
		must(err)
	}
	last := svc.Conversation{Agent: "support", ID: "c9", UsedAt: time.Now()}
	for _, agent := range []string{"", "support"} {
		for _, before := range []*svc.Conversation{nil, &last} {
			_, err = s.Conversations(ctx, svc.ConversationQuery{Scope: "acme", Agent: agent, Before: before, Limit: 20})
			must(err)
		}
	}
	must(s.Drop(ctx, talk("new")))
	admit(talk("new"), "s4", mine)
}

// explain is how a database would carry out a statement.
func explain(t *testing.T, db *sqldb.DB, query string, args []any) string {
	t.Helper()
	if first := strings.ToUpper(strings.Fields(query)[0]); !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}, first) {
		return ""
	}
	return planned(t, db, true, query, args...)
}

// grows are the tables that hold more the longer a service runs.
const grows = `(streams|submissions|inputs|batches|messages|runs|blobs|blob_chunks)`

var (
	postgresReads = regexp.MustCompile(`Seq Scan on ` + grows + `\b`)
	sqliteReads   = regexp.MustCompile(`SCAN ` + grows + `(?: |$)`)
	sqliteNames   = regexp.MustCompile(`SCAN ([a-z]+)(?: |$)`)
)

// readsThrough names the table that a plan reads through, empty if there is none.
func readsThrough(plan string) string {
	if found := postgresReads.FindString(plan); found != "" {
		return plan
	}
	for line := range strings.Lines(plan) {
		line = strings.TrimRight(line, "\n")
		if sqliteReads.MatchString(line+" ") || sqliteNames.MatchString(line) && !strings.Contains(line, "json_each") && len(sqliteNames.FindStringSubmatch(line)[1]) == 1 {
			return plan
		}
	}
	return ""
}

// TestPromptsAreAsFastBesideTheCrowd compares prompts through a runtime on an empty database and on one with the crowd, in
// turns, by the median of several rounds.
func TestPromptsAreAsFastBesideTheCrowd(t *testing.T) {
	if os.Getenv("SVC_SOAK") == "" {
		t.Skip("SVC_SOAK is not set")
	}
	sqldbtest.Each(t, func(t *testing.T, address string) {
		alone, beside := promptable(t, address, false), promptable(t, sibling(t, address), true)
		var ratios []float64
		for range 28 { // short turns: what others take of the machine, they take of both
			a, b := alone(), beside()
			ratios = append(ratios, b/a)
			t.Logf("%.0f prompts a second alone, %.0f beside %d streams", a, b, 4*crowd)
		}
		slices.Sort(ratios)
		if ratio := ratios[len(ratios)/2]; ratio < 0.9 {
			t.Errorf("beside the crowd prompts are %.2f times as fast", ratio)
		}
	})
}

// sibling is another database of the same kind.
func sibling(t *testing.T, address string) string {
	if strings.HasPrefix(address, "sqlite:") {
		return sqldbtest.SQLite(t)
	}
	return sqldbtest.Postgres(t)
}

// promptable runs a runtime on a database, and gives what measures how many prompts it answers in a second.
func promptable(t *testing.T, address string, crowded bool) func() float64 {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
		t.Fatal(err)
	}
	if crowded {
		gather(t, db)
	}
	s, err := sqlstore.New(t.Context(), db, sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := svc.New(svc.Config{Store: s, Model: model.Providers{"scripted": scripted.Words()}.Find})
	if err != nil {
		t.Fatal(err)
	}
	rt.AddAgent(&svc.Agent{Name: "a", Model: "scripted/words"})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	if crowded {
		eventually(t, "what nobody can do is parked", func() bool { return parked(t, s) })
	}
	return func() float64 { return promptsPerSecond(t, rt) }
}

// promptsPerSecond prompts 32 instances for half a second, each as soon as it has settled.
func promptsPerSecond(t *testing.T, rt *svc.Runtime) float64 {
	t.Helper()
	const each = 500 * time.Millisecond
	var done atomic.Int64
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			id := fmt.Sprint("fast", i)
			for deadline := time.Now().Add(each); time.Now().Before(deadline); done.Add(1) {
				p, err := rt.Prompt(t.Context(), "a", id, svc.Prompt{Message: conversation.Message{Kind: "user", Body: "n=5"}})
				if err == nil {
					err = settlement(t.Context(), rt.Follow(rt.AgentStream("a", id)), p.Offset)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / each.Seconds()
}

// settlement reads on behind an offset until something settles.
func settlement(ctx context.Context, f *svc.Follower, after stream.Offset) error {
	defer f.Close()
	for {
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		if err != nil || bytes.Contains(page.JSON(), []byte("submission-settled")) {
			return err
		}
		if after = page.Next; page.Tail {
			select {
			case <-wake:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}
