package torture_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/child"
	"svc.dev/svc/internal/contract/program"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/internal/torture"
)

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") == "1"

func pick[T any](fast, full T) T {
	if soak {
		return full
	}
	return fast
}

// each runs fn on SQLite, and in the soak on PostgreSQL too: cuts are the client's affair, whatever the database.
func each(t *testing.T, fn func(t *testing.T, s *scene)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { fn(t, newScene(t, sqldbtest.SQLite(t))) })
	if soak {
		t.Run("postgres", func(t *testing.T) { fn(t, newScene(t, sqldbtest.Schema(t))) })
	}
}

func TestMain(m *testing.M) { os.Exit(child.Main(sqldbtest.Tests{M: m}, serveNode)) }

// setup is how a node is started, hello is its first line.
type (
	setup struct{ Database, Node string }
	hello struct{ URL string }
)

// lease is short, so that work moves soon.
const lease = time.Second

// serveNode is a process of its own: the contract program, until its parent is gone.
func serveNode(text []byte) error {
	var s setup
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	p, err := program.Start(context.Background(), program.Config{Database: s.Database, Node: s.Node, Lease: lease})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(hello{p.URL}); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return p.Stop()
}

// scene is a server, what stands before it, and clients of both.
type scene struct {
	proxy   *torture.Proxy
	through *client.Client // by the proxy
	direct  *client.Client
}

// newScene serves the contract program on a database, behind a proxy.
func newScene(t testing.TB, database string) *scene {
	t.Helper()
	p, err := program.Start(t.Context(), program.Config{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	s := before(t, p.URL)
	s.direct = ask(t, p.URL)
	return s
}

// before puts a proxy before a server.
func before(t testing.TB, url string) *scene {
	t.Helper()
	proxy, err := torture.New(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &scene{proxy: proxy, through: ask(t, proxy.URL())}
}

// ask makes a client that does not wait long.
func ask(t testing.TB, url string) *client.Client {
	t.Helper()
	transport := &http.Transport{ExpectContinueTimeout: time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Config{BaseURL: url, HTTP: &http.Client{Transport: transport}, Backoff: time.Millisecond, Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits for something to come true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// plan says what is to happen, and forgets what has.
func (s *scene) plan(t testing.TB, plans ...torture.Plan) {
	t.Helper()
	s.proxy.Forget()
	if err := s.proxy.Plan(plans...); err != nil {
		t.Fatal(err)
	}
}

// invoke starts a run that writes lines, some milliseconds apart.
func (s *scene) invoke(t testing.TB, lines, delay int) string {
	t.Helper()
	id, err := s.direct.Workflows.Invoke(t.Context(), "chatty", client.Invocation{Input: map[string]int{"n": lines, "delay": delay}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// prompt sends a prompt.
func (s *scene) prompt(t testing.TB, agent, instance, text string) client.Admission {
	t.Helper()
	sent, err := s.direct.Agents.Send(t.Context(), agent, instance, client.Prompt{Body: text})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// events reads a run to its end.
func events(ctx context.Context, c *client.Client, id string, live client.Live) (all []string, err error) {
	for e, err := range c.Runs.Stream(ctx, id, client.StreamOptions{Live: live}) {
		if err != nil {
			return all, err
		}
		all = append(all, string(e.Raw))
	}
	return all, nil
}

// conversation folds an instance's updates, from the first to the settlement of a submission.
func conversation(ctx context.Context, c *client.Client, sent client.Admission, live client.Live) (*client.Conversation, error) {
	folded := &client.Conversation{}
	for u, err := range c.Agents.Updates(ctx, sent.Agent, sent.Instance, client.StreamOptions{Live: live}) {
		if err != nil {
			return folded, err
		}
		if !folded.Apply(u) {
			return folded, fmt.Errorf("%+v came twice", u.Position)
		}
		if u.Type == client.UpdateSettled && u.SubmissionID == sent.SubmissionID {
			break
		}
	}
	return folded, nil
}

// wantEvents fails the test unless each event came, once and in order.
func wantEvents(t testing.TB, what string, want, got []string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("%s: event %d is %s, want %s", what, i, got[i], want[i])
		}
	}
	if len(want) != len(got) || len(want) < 3 {
		t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
	}
}

// wantHistory fails the test unless what was folded is what the server has.
func (s *scene) wantHistory(t testing.TB, what string, folded *client.Conversation, agent, instance string) {
	t.Helper()
	stored, err := s.direct.Agents.History(t.Context(), agent, instance)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := shown(folded), shown(stored); a != b {
		t.Fatalf("%s: folded\n%s\nstored\n%s", what, a, b)
	}
}

// shown is a conversation in which nothing is on its way, without what may differ: adjacent parts of a kind are one.
func shown(c *client.Conversation) string {
	c = c.Clone()
	c.Offset = ""
	for _, m := range c.Messages {
		var parts []*client.Part
		for _, p := range m.Parts {
			if n := len(parts) - 1; n >= 0 && p.Text != "" && parts[n].Type == p.Type {
				parts[n].Text += p.Text
			} else if p.Type == client.PartFile || p.Type == client.PartTool || p.Text != "" {
				parts = append(parts, p)
			}
		}
		m.Parts = parts
	}
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
