// Package outside lets a client that we did not write read our streams: the one that published SDKs stand on.
package outside

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/contract"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/stream"
	"svc.dev/svc/ts"
)

// needNode skips the test where there is no node, unless that would go unseen, and sees that the client is installed.
func needNode(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is missing", tool)
			}
			t.Skipf("%s is missing: the published client was not tested", tool)
		}
	}
	install(t, ".", "@durable-streams/client")
}

// install sees that a package that a folder needs is there.
func install(t *testing.T, folder, needed string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, "node_modules", needed)); err == nil {
		return
	}
	if out, err := exec.CommandContext(t.Context(), "npm", "--prefix", folder, "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// program is the contract program, which can be stopped and started again at the same address on the same database.
type program struct {
	db      string
	address string
	project string // the folder of a project around the API; empty: none
	prefix  string // where that has mounted it
	url     string
	stop    func()
}

func newProgram(t *testing.T) *program {
	t.Helper()
	return newProgramOn(t, sqldbtest.SQLite(t))
}

func newProgramOn(t *testing.T, db string) *program {
	t.Helper()
	p := &program{db: db, address: "127.0.0.1:0"}
	p.start(t)
	t.Cleanup(func() { p.stop() })
	return p
}

func (p *program) start(t *testing.T) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := sqlstore.Open(t.Context(), p.db, sqlstore.Config{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := svc.New(svc.Config{Store: store, Node: "outside", Model: contract.Models.Find, StopTimeout: 300 * time.Millisecond, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	contract.Declare(rt)
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	p.url = "http://" + p.address + p.prefix
	handler, end := p.handler(t, rt, httpapi.Config{LongPoll: 2 * time.Second, Log: quiet})
	server := &http.Server{Handler: handler}
	served, ran := make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { served <- server.Serve(listener) }()
	go func() { ran <- rt.Run(ctx) }()
	p.stop = func() {
		cancel()
		late, done := context.WithTimeout(context.Background(), 30*time.Second)
		defer done()
		err := errors.Join(<-ran, server.Shutdown(late))
		end()
		err = errors.Join(err, store.Close())
		if err != nil || !errors.Is(<-served, http.ErrServerClosed) {
			t.Errorf("stop: %v", err)
		}
	}
}

// handler is the API, or the project that has mounted it.
func (p *program) handler(t *testing.T, rt *svc.Runtime, c httpapi.Config) (http.Handler, func()) {
	t.Helper()
	if p.project == "" {
		return httpapi.App(rt, c), func() {}
	}
	project, err := ts.Load(t.Context(), rt, p.project, ts.Config{API: c, Log: c.Log})
	if err != nil {
		t.Fatal(err)
	}
	return project, project.Close
}

func (p *program) restart(t *testing.T) {
	t.Helper()
	p.stop()
	p.start(t)
}

func (p *program) post(t *testing.T, path, body string) string {
	t.Helper()
	response, err := http.Post(p.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusAccepted {
		t.Fatalf("POST %s: %d %s, %v", path, response.StatusCode, text, err)
	}
	return string(text)
}

// target is a stream to read: where it is, from which offset, and what tells its end to a reader that would go on.
type target struct {
	URL    string            `json:"url"`
	Params map[string]string `json:"params,omitempty"`
	Key    string            `json:"key,omitempty"` // where one is asked for
	Offset string            `json:"offset"`
	Until  string            `json:"until,omitempty"`
}

// invoke starts a run that takes a while.
func (p *program) invoke(t *testing.T, input string) target {
	t.Helper()
	var answer struct{ RunID string }
	if err := json.Unmarshal([]byte(p.post(t, "/workflows/chatty", input)), &answer); err != nil {
		t.Fatal(err)
	}
	return target{URL: p.url + "/runs/" + answer.RunID, Offset: "-1"}
}

// prompt starts a reply that takes a while.
func (p *program) prompt(t *testing.T, id, text string) target {
	t.Helper()
	var answer struct{ StreamURL string }
	if err := json.Unmarshal([]byte(p.post(t, "/agents/assistant/"+id, fmt.Sprintf(`{"kind":"user","body":%q}`, text))), &answer); err != nil {
		t.Fatal(err)
	}
	return target{URL: answer.StreamURL, Params: map[string]string{"view": "updates"}, Offset: "-1", Until: "submission-settled"}
}

// batch is what the client handed over at once.
type batch struct {
	Offset string
	Items  []json.RawMessage
}

// plan is one reading of a target.
type plan struct {
	target
	Live    any `json:"live"` // false, long-poll or sse
	Batches int `json:"batches,omitempty"`
}

// read has the client read, and hands over what it got; each tells of every batch as it comes, if it is not nil.
func (c plan) read(t *testing.T, each func(batch)) (items []string, offset string) {
	t.Helper()
	items, offset, err := c.by(t.Context(), each, "read.mjs")
	if err != nil {
		t.Fatal(err)
	}
	return items, offset
}

// by has a program read, which gets the plan as its last argument.
func (c plan) by(ctx context.Context, each func(batch), program ...string) (items []string, offset string, err error) {
	arg, err := json.Marshal(c)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, "node", append(program, string(arg))...)
	var complaints strings.Builder
	node.Stderr = &complaints
	out, err := node.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := node.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var b batch
		if err := json.Unmarshal(lines.Bytes(), &b); err != nil {
			return nil, "", errors.Join(fmt.Errorf("%w: %s", err, lines.Text()), node.Wait())
		}
		for _, item := range b.Items {
			items = append(items, string(item))
		}
		offset = b.Offset
		if each != nil {
			each(b)
		}
	}
	if err := node.Wait(); err != nil {
		return nil, "", fmt.Errorf("%s %s: %w\n%s", program, arg, err, complaints.String())
	}
	return items, offset, nil
}

// whole is all of a target, read by ourselves.
func (of target) whole(t *testing.T) []string {
	t.Helper()
	var all []string
	for after := of.Offset; ; {
		url := of.URL + "?offset=" + after
		for key, value := range of.Params {
			url += "&" + key + "=" + value
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+of.Key)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var page []json.RawMessage
		if err := json.Unmarshal(text, &page); err != nil {
			t.Fatalf("%s answers %s: %s", url, response.Status, text)
		}
		for _, item := range page {
			all = append(all, string(item))
		}
		after = response.Header.Get(stream.HeaderNextOffset)
		if response.Header.Get(stream.HeaderUpToDate) == "true" {
			return all
		}
	}
}

// wantSame fails the test unless the client got everything, once and in order.
func wantSame(t *testing.T, want, got []string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("item %d is %s, want %s", i, got[i], want[i])
		}
	}
	if len(want) != len(got) || len(want) < 20 {
		t.Errorf("%d items, want %d", len(got), len(want))
	}
}

var modes = []any{false, "long-poll", "sse"}

// begin starts what takes eight seconds to be over, since a client may need some to begin, by its name: a run, or a reply.
func (p *program) begin(t *testing.T, name string) target {
	t.Helper()
	if name == "run" {
		return p.invoke(t, `{"n":80,"delay":100}`)
	}
	return p.prompt(t, rand.Text(), "n=80 delay=100")
}

// eachLive runs a test for a run and for a reply, in both live modes.
func eachLive(t *testing.T, test func(t *testing.T, name string, live any)) {
	needNode(t)
	for _, live := range modes[1:] {
		for _, name := range []string{"run", "agent"} {
			t.Run(fmt.Sprintf("%s %v", name, live), func(t *testing.T) {
				t.Parallel()
				test(t, name, live)
			})
		}
	}
}

func TestClientReadsWhatIsOver(t *testing.T) {
	needNode(t)
	p := newProgram(t)
	for name, target := range map[string]target{"run": p.invoke(t, `{"n":1500}`), "agent": p.prompt(t, "over", "think n=200 size=10000")} {
		plan{target, "long-poll", 0}.read(t, nil) // until it is over
		want := target.whole(t)
		for _, live := range modes {
			t.Run(fmt.Sprintf("%s %v", name, live), func(t *testing.T) {
				got, _ := plan{target, live, 0}.read(t, nil)
				wantSame(t, want, got)
			})
		}
	}
}

func TestClientFollowsWhatGoesOn(t *testing.T) {
	eachLive(t, func(t *testing.T, name string, live any) {
		p := newProgram(t)
		target := p.begin(t, name)
		got, _ := plan{target, live, 0}.read(t, nil)
		wantSame(t, target.whole(t), got)
	})
}

func TestClientResumesWhereItStood(t *testing.T) {
	eachLive(t, func(t *testing.T, name string, live any) {
		p := newProgram(t)
		target := p.begin(t, name)
		first, offset := plan{target, live, 3}.read(t, nil)
		rest := target
		rest.Offset = offset
		second, _ := plan{rest, live, 0}.read(t, nil)
		if len(first) == 0 || len(second) == 0 {
			t.Errorf("%d items, then %d", len(first), len(second))
		}
		wantSame(t, target.whole(t), append(first, second...))
	})
}

func TestClientFollowsAcrossARestart(t *testing.T) {
	eachLive(t, func(t *testing.T, name string, live any) {
		p := newProgram(t)
		target := p.begin(t, name)
		batches := 0
		got, _ := plan{target, live, 0}.read(t, func(batch) {
			if batches++; batches == 3 {
				p.restart(t)
			}
		})
		if batches < 4 {
			t.Errorf("%d batches: the restart came too late", batches)
		}
		wantSame(t, target.whole(t), got)
	})
}
