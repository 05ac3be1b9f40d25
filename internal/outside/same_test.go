package outside

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/servicetest"
)

// sdk is the folder of our TypeScript client.
const sdk = "../../sdk/typescript"

// bundle makes one file of that client's sources: what its own tests build comes and goes.
func bundle(t *testing.T) string {
	t.Helper()
	install(t, sdk, "esbuild")
	file := filepath.Join(t.TempDir(), "sdk.mjs")
	tool := filepath.Join(sdk, "node_modules/.bin/esbuild")
	if out, err := exec.CommandContext(t.Context(), tool, sdk+"/src/index.ts", "--bundle", "--format=esm", "--log-level=warning", "--outfile="+file).CombinedOutput(); err != nil {
		t.Fatalf("bundle: %v\n%s", err, out)
	}
	return file
}

// workspace is one behind the gateway, with a project to work on.
type workspace struct {
	servicetest.Workspace
	client  *client.Client // of its API
	product *client.Client // of its routes
}

func newWorkspace(t *testing.T, database string) *workspace {
	t.Helper()
	c := servicetest.Config(t)
	c.Database = database
	w := &workspace{Workspace: servicetest.Start(t, c).SignUp(t, "agents:read", "agents:write", "workflows:run", "runs:read", "projects:read", "projects:write")}
	w.client, w.product = ask(t, w.API, w.Key), ask(t, w.Site+"/api/workspaces/ada/personal", w.Key)
	w.call(t, client.Request{Path: "/projects", JSON: map[string]string{"name": "Shop", "slug": "shop"}})
	for i := range 12 { // each is read and summed up, in its time
		w.call(t, client.Request{Method: http.MethodPut, Path: fmt.Sprintf("/projects/shop/files/note%d.txt", i), JSON: "n=3 delay=40"})
	}
	return w
}

func (w *workspace) call(t *testing.T, r client.Request) {
	t.Helper()
	var answer json.RawMessage
	if err := w.product.Call(t.Context(), r, &answer); err != nil {
		t.Fatalf("%s: %v", r.Path, err)
	}
}

func (w *workspace) begin(t *testing.T, name string) target {
	t.Helper()
	if name == "run" {
		id, err := w.client.Workflows.Invoke(t.Context(), "digest", client.Invocation{Input: map[string]string{"project": "shop"}})
		if err != nil {
			t.Fatal(err)
		}
		return target{URL: w.API + "/runs/" + id, Key: w.Key, Offset: client.Start}
	}
	id := rand.Text()
	if _, err := w.client.Agents.Send(t.Context(), "central", id, client.Prompt{Body: "n=50 delay=40"}); err != nil {
		t.Fatal(err)
	}
	return target{URL: w.API + "/agents/central/" + id, Params: map[string]string{"view": "updates"}, Key: w.Key, Offset: client.Start, Until: client.UpdateSettled}
}

func ask(t *testing.T, url, key string) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Config{BaseURL: url, Token: key, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// byGo reads a target with our Go client.
func (of target) byGo(ctx context.Context, c *client.Client, live client.Live) (items []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	names := strings.Split(of.URL, "/")
	last := names[len(names)-1]
	if of.Until == "" {
		for e, err := range c.Runs.Stream(ctx, last, client.StreamOptions{Live: live}) {
			if err != nil {
				return nil, err
			}
			items = append(items, string(e.Raw))
		}
		return items, nil
	}
	for u, err := range c.Agents.Updates(ctx, names[len(names)-2], last, client.StreamOptions{Live: live}) {
		if err != nil {
			return nil, err
		}
		if items = append(items, retold(u)); u.Type == of.Until {
			break
		}
	}
	return items, nil
}

// retold is an update as the Go client has it.
func retold(u client.Update) string {
	text, err := json.Marshal(u)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// retoldAll are updates of the wire, as the Go client has them.
func retoldAll(t *testing.T, wire []string) (all []string) {
	t.Helper()
	for _, text := range wire {
		var u client.Update
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			t.Fatal(err)
		}
		all = append(all, retold(u))
	}
	return all
}

// reading is what one client saw of a target, and how.
type reading struct {
	client string
	live   client.Live
	items  []string
	err    error
}

// byAll has every client read a target at the same time, in every way.
func (of target) byAll(t *testing.T, ours string, c *client.Client) []*reading {
	t.Helper()
	var all []*reading
	var running sync.WaitGroup
	for _, live := range []client.Live{client.SSE, client.LongPoll} {
		how := plan{of, live, 0}
		for name, read := range map[string]func() ([]string, error){
			"published": func() ([]string, error) { items, _, err := how.by(t.Context(), nil, "read.mjs"); return items, err },
			"typescript": func() ([]string, error) {
				items, _, err := how.by(t.Context(), nil, "ours.mjs", ours)
				return items, err
			},
			"go": func() ([]string, error) { return of.byGo(t.Context(), c, live) },
		} {
			r := &reading{client: name, live: live}
			all = append(all, r)
			running.Go(func() { r.items, r.err = read() })
		}
	}
	running.Wait()
	return all
}

// TestAllClientsSeeTheSame has the published client and both of ours follow a run and a reply while they are made, of the contract
// program and of a workspace behind the gateway, on both databases.
func TestAllClientsSeeTheSame(t *testing.T) {
	needNode(t)
	ours := bundle(t)
	t.Run("contract program", func(t *testing.T) {
		sqldbtest.Each(t, func(t *testing.T, database string) {
			p := newProgramOn(t, database)
			wantSameByAll(t, ours, ask(t, p.url, ""), p.begin)
		})
	})
	t.Run("gateway", func(t *testing.T) {
		sqldbtest.Each(t, func(t *testing.T, database string) {
			w := newWorkspace(t, database)
			wantSameByAll(t, ours, w.client, w.begin)
		})
	})
}

// wantSameByAll fails the test unless all clients see what there is in the end.
func wantSameByAll(t *testing.T, ours string, c *client.Client, begin func(*testing.T, string) target) {
	t.Helper()
	for _, name := range []string{"run", "agent"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := begin(t, name)
			all := of.byAll(t, ours, c)
			want := of.whole(t)
			for _, r := range all {
				t.Run(fmt.Sprintf("%s %s", r.client, r.live), func(t *testing.T) {
					if r.err != nil {
						t.Fatal(r.err)
					}
					if of.Until != "" && r.client == "go" {
						wantSame(t, retoldAll(t, want), r.items)
						return
					}
					wantSame(t, want, r.items)
				})
			}
		})
	}
}
