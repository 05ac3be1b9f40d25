package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/secret"
)

// nextMigration expands what every prompt writes to.
const nextMigration = `-- +goose Up
CREATE TABLE later (id BIGINT PRIMARY KEY);
ALTER TABLE streams ADD COLUMN later TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN later BIGINT;
CREATE INDEX streams_later ON streams (scope) WHERE later <> '';
`

// beLater is the program svc-later: svc with a migration of the runtime's tables that svc does not have, as the next version has.
func beLater() {
	files := fstest.MapFS{"postgres/99999_later.sql": {Data: []byte(nextMigration)}}
	runtime := &database.Rooms[0]
	err := fs.WalkDir(runtime.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(runtime.FS, path)
		files[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		panic(err)
	}
	runtime.FS = files
	main()
}

// fleet is two nodes on one PostgreSQL database that are replaced one after the other while they are asked.
type fleet struct {
	settings []string
	folder   string
	ports    [2]string
	key      string

	mu    sync.Mutex
	nodes [2]*process

	moved, refused atomic.Int64 // requests that went to the other node, and those that a node which stops refused
}

// previous is the program of the version before: what SVC_PREVIOUS names, else this code without the next version's migration.
func previous() string { return cmp.Or(os.Getenv("SVC_PREVIOUS"), "svc") }

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{folder: t.TempDir(), ports: [2]string{freePort(t), freePort(t)}}
	keys := filepath.Join(f.folder, "keys.json")
	ring, err := secret.NewRing()
	if err == nil {
		err = ring.WriteNew(keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.settings = []string{
		"SVC_DATABASE_URL=" + sqldbtest.Postgres(t), "SVC_KEYS_FILE=" + keys, "SVC_FILES_DIR=" + filepath.Join(f.folder, "files"),
		"SVC_OPS_LISTEN=127.0.0.1:0", "SVC_LIMIT_RATE=1000000", "SVC_LIMIT_BURST=1000000",
	}
	for i := range f.nodes {
		f.nodes[i] = f.begin(t, previous(), i)
	}
	f.key = signUp(t, f.nodes[0].Serving, "ada").key
	return f
}

func (f *fleet) begin(t *testing.T, program string, i int) *process {
	t.Helper()
	return launchProgram(t, program, append([]string{"SVC_LISTEN=127.0.0.1:" + f.ports[i]}, f.settings...), "serve", "--data", f.dataOf(i))
}

func (f *fleet) dataOf(i int) string { return filepath.Join(f.folder, fmt.Sprint("node-", i)) }

// replace stops a node as an operator does, and begins the next version in its place.
func (f *fleet) replace(t *testing.T, i int) {
	t.Helper()
	f.mu.Lock()
	old := f.nodes[i]
	f.mu.Unlock()
	old.stop(t)
	<-old.done
	if code := old.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the node that was stopped ends with %d: %s", code, old.said())
	}
	next := f.begin(t, "svc-later", i)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[i] = next
}

// ask sends a request to one node after the other until one does it. A node that stops may say so, or not be there; everything
// else that is no success is a failure.
func (f *fleet) ask(t *testing.T, first int, method, path, body, once string) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); first++ {
		f.mu.Lock()
		at := f.nodes[first%2].Agents
		f.mu.Unlock()
		r, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return ""
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+f.key)
		r.Header.Set("Idempotency-Key", once)
		res, err := client.Do(r)
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			f.moved.Add(1)
			takes(5 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
			return ""
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		switch {
		case err != nil:
			t.Errorf("%s %s: %v", method, path, err)
			return ""
		case res.StatusCode < 300:
			return string(text)
		case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "" && strings.Contains(string(text), "runtime_unavailable"):
			f.refused.Add(1)
			takes(5 * time.Millisecond)
		default:
			t.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
			return ""
		}
	}
	t.Errorf("%s %s: nobody answers", method, path)
	return ""
}

// TestARollingUpdateUnderLoad replaces both nodes by the next version, which migrates, while they are prompted and read. No request
// fails but by what a node says that stops, and nothing that was taken is lost or done twice. The version before is refused then.
func TestARollingUpdateUnderLoad(t *testing.T) {
	if os.Getenv("SVC_SOAK") == "" {
		t.Skip("for the soak: it replaces nodes under load; SVC_SOAK=1 runs it")
	}
	f := newFleet(t)
	const lanes = 8
	var sent [lanes]int
	var all sync.WaitGroup
	var rolled atomic.Bool
	for lane := range lanes {
		all.Go(func() {
			for i := 0; !t.Failed() && (!rolled.Load() || i < 10); i++ {
				at := fmt.Sprintf("/v1/ada/personal/agents/central/%d", lane)
				f.ask(t, lane+i, "POST", at, `{"kind":"user","body":"n=20 delay=5"}`, fmt.Sprintf("prompt-%d-%d", lane, i))
				sent[lane]++
				f.ask(t, lane+i+1, "GET", at, "", "")
				takes(200 * time.Millisecond)
			}
		})
	}
	for i := range f.nodes {
		takes(2 * time.Second)
		f.replace(t, i)
	}
	takes(2 * time.Second)
	rolled.Store(true)
	all.Wait()
	total := 0
	for lane, n := range sent {
		total += n
		f.mustHaveAll(t, lane, n)
	}
	if said := f.nodes[0].said(); !strings.Contains(said, "brought the database forward") || !strings.Contains(said, `"to":99999,"duration_ms":`) {
		t.Errorf("the node that migrated does not say so: %s", said)
	}
	f.mustRefuse(t)
	t.Logf("%d prompts through a rolling update; %d requests refused by a node that stops, %d found none", total, f.refused.Load(), f.moved.Load())
}

// mustHaveAll waits until all prompts of a conversation have settled, and reads each answer whole and once.
func (f *fleet) mustHaveAll(t *testing.T, lane, prompts int) {
	t.Helper()
	var h struct {
		Messages    []reply
		Settlements []struct{ Outcome string }
	}
	for end := time.Now().Add(5 * time.Minute); len(h.Settlements) < prompts && time.Now().Before(end); takes(100 * time.Millisecond) {
		h.Messages, h.Settlements = nil, nil
		text := f.ask(t, lane, "GET", fmt.Sprintf("/v1/ada/personal/agents/central/%d", lane), "", "")
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.Settlements) != prompts {
		t.Errorf("lane %d: %d of %d prompts have settled", lane, len(h.Settlements), prompts)
	}
	answers := map[string]string{}
	for _, m := range h.Messages {
		if m.Role == "assistant" {
			answers[m.SubmissionID] = m.text() // of one that was cut off, what went on after it
		}
	}
	for _, s := range h.Settlements {
		if s.Outcome != "completed" {
			t.Errorf("lane %d: a prompt settles as %s", lane, s.Outcome)
		}
	}
	if len(answers) != prompts {
		t.Errorf("lane %d: %d prompts have an answer, want %d", lane, len(answers), prompts)
	}
	for id, said := range answers {
		if !strings.HasSuffix(strings.TrimSpace(said), "word19") {
			t.Errorf("lane %d: %s is answered %q", lane, id, said)
		}
	}
}

// mustRefuse starts the version before on the database that is newer now.
func (f *fleet) mustRefuse(t *testing.T) {
	t.Helper()
	cmd := exec.Command(previous(), "serve", "--data", filepath.Join(f.folder, "old"))
	cmd.Env = append(withoutSettings(), append([]string{"SVC_LISTEN=127.0.0.1:0"}, f.settings...)...)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "written by a newer svc: room runtime is at version 99999") || !strings.Contains(string(out), "run the newer binary") {
		t.Errorf("the version before on a newer database: %v %s", err, out)
	}
}
