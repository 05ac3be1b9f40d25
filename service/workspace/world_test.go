package workspace_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mail/mailtest"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

const (
	platform = "https://platform.example"
	day      = 24 * time.Hour
)

// clear seals nothing: what the outbox keeps is read by tests.
type clear struct{}

func (clear) Seal(_ string, plain []byte) []byte           { return slices.Clone(plain) }
func (clear) Open(_ string, sealed []byte) ([]byte, error) { return slices.Clone(sealed), nil }
func quiet() *slog.Logger                                  { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
func each(t *testing.T, fn func(t *testing.T, w *world))   { eachWith(t, nil, fn) }
func mailed(t *testing.T, fn func(t *testing.T, w *world)) { eachMail(t, nil, fn) }
func person(id, name string) audit.Actor {
	return audit.Actor{Kind: audit.Account, ID: id, Username: name}
}
func staff(c workspace.Caller, role string) workspace.Caller { c.Staff = role; return c }

// world is workspaces on a real database, with people whom a table of the test knows.
type world struct {
	*workspace.Workspaces
	db    *sqldb.DB
	log   *audit.Log
	inbox *mailtest.Server // nil: there is no mail

	mu       sync.Mutex
	now      time.Time
	projects map[string]bool // workspace + "/" + slug
	named    int
}

// Leave is how somebody takes out themselves.
func (w *world) Leave(ctx context.Context, by workspace.Caller, address string) error {
	return w.Remove(ctx, workspace.Caller{Actor: by.Actor}, address, by.ID, 0)
}

// eachWith runs fn on both databases, beside other tests.
func eachWith(t *testing.T, edit func(*workspace.Config), fn func(t *testing.T, w *world)) {
	t.Helper()
	eachDatabase(t, func(t *testing.T, db *sqldb.DB) { fn(t, newWorld(t, db, nil, edit)) })
}

// eachMail is eachWith where there is a mail server.
func eachMail(t *testing.T, edit func(*workspace.Config), fn func(t *testing.T, w *world)) {
	t.Helper()
	eachDatabase(t, func(t *testing.T, db *sqldb.DB) {
		fn(t, newWorld(t, db, mailtest.Start(t, mailtest.Options{}), edit))
	})
}

func newWorld(t *testing.T, db *sqldb.DB, inbox *mailtest.Server, edit func(*workspace.Config)) *world {
	t.Helper()
	w := &world{db: db, now: time.Now().Truncate(time.Millisecond), inbox: inbox, projects: map[string]bool{}}
	var err error
	key := []byte(strings.Repeat("k", 32))
	w.log, err = audit.Open(t.Context(), w.db, audit.Config{Key: key, Seed: key, Now: w.Now, Log: quiet()})
	must(t, err)
	post := mail.Config{URL: platform, Box: clear{}, Log: quiet(), Poll: 10 * time.Millisecond}
	if inbox != nil {
		post.SMTP, post.From = inbox.URL(), "svc@example.com"
	}
	box, err := mail.New(w.db, post)
	must(t, err)
	if inbox != nil {
		run(t, box.Run)
	}
	c := workspace.Config{
		DB: w.db, Audit: w.log, Mail: box, Platform: platform, HasProject: w.hasProject, Now: w.Now,
	}
	if edit != nil {
		edit(&c)
	}
	w.Workspaces, err = workspace.New(c)
	must(t, err)
	return w
}

// run keeps something running until the test ends.
func run(t *testing.T, fn func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = fn(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

func (w *world) hasProject(_ *sqldb.Tx, in, slug string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.projects[in+"/"+slug], nil
}

func (w *world) addProject(in, slug string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.projects[in+"/"+slug] = true
}

// Now is the time, which stands still until it passes.
func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// person makes somebody with their personal workspace.
func (w *world) person(t *testing.T, name string) workspace.Caller {
	t.Helper()
	by := workspace.Caller{Actor: person("acc_"+ulid.Make().String(), name)}
	must(t, w.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := tx.Exec("INSERT INTO accounts (id, username, display_name, created_at, updated_at) VALUES ($1, $2, $3, 1, 1)", by.ID, name, strings.ToUpper(name[:1])+name[1:]); err != nil {
			return err
		}
		_, err := workspace.MakePersonal(tx, w.Now(), by.ID, name)
		return err
	}))
	return by
}

// nextCaller is a person whom nothing is known of yet.
func (w *world) nextCaller() workspace.Caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.named++
	return workspace.Caller{Actor: person("acc_"+ulid.Make().String(), fmt.Sprintf("person-%d", w.named))}
}

// somebody makes a person whose name does not matter.
func (w *world) somebody(t *testing.T) workspace.Caller {
	t.Helper()
	return w.person(t, w.nextCaller().Username)
}

// business makes a workspace of somebody.
func (w *world) business(t *testing.T, by workspace.Caller, slug string) workspace.Membership {
	t.Helper()
	m, err := w.Create(t.Context(), by, slug, "")
	must(t, err)
	return m
}

// member makes somebody new a member by a role, without asking anybody.
func (w *world) member(t *testing.T, in workspace.Membership, role string) workspace.Caller {
	t.Helper()
	by := w.somebody(t)
	w.put(t, in, by, role)
	return by
}

func (w *world) put(t *testing.T, in workspace.Membership, by workspace.Caller, role string) {
	t.Helper()
	w.exec(t, `INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (workspace, account) DO UPDATE SET role = excluded.role`, in.ID, by.ID, role, w.Now().UnixMilli())
}

func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	execute(t, w.db, statement, args...)
}

// count is the number that a query answers with.
func (w *world) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	must(t, w.db.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(query, args...).Scan(&n) }))
	return n
}

// roleOf is somebody's role in a workspace; empty: they are no member.
func (w *world) roleOf(t *testing.T, in workspace.Membership, by workspace.Caller) (role string) {
	t.Helper()
	must(t, w.db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT COALESCE(MAX(role), '') FROM members WHERE workspace = $1 AND account = $2", in.ID, by.ID).Scan(&role)
	}))
	return role
}

// events are the audit events of a chain, newest first.
func (w *world) events(t *testing.T, chain string) []audit.Event {
	t.Helper()
	p, err := w.log.Page(t.Context(), audit.Query{Scope: chain, Query: listing.Query{Limit: 200}})
	must(t, err)
	return p.Items
}

// actions are what a chain tells, oldest first.
func (w *world) actions(t *testing.T, chain string) (all []string) {
	t.Helper()
	for _, e := range w.events(t, chain) {
		all = append(all, e.Action)
	}
	slices.Reverse(all)
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless the error is a fault of that type, and gives the fault.
func refused(t testing.TB, err error, typ string) *fault.Error {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Fatalf("got %v, want %s", err, typ)
	}
	return fault.From(err)
}

// unknown is the scope of a workspace that never was.
func unknown() string { return scope.Of("nobody", "nothing").String() }

// together calls fn n times at once and counts the types of what comes out; "" is success.
func together(n int, fn func(i int) error) map[string]int {
	start := make(chan struct{})
	types := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			if err := fn(i); err != nil {
				types[i] = fault.From(err).Type
			}
		})
	}
	close(start)
	all.Wait()
	counts := map[string]int{}
	for _, typ := range types {
		counts[typ]++
	}
	return counts
}

// unlimited lets everybody invite as often as a test does.
func unlimited(c *workspace.Config) { c.Invites = throttle.Rate{Limit: 10_000, Per: time.Hour} }
