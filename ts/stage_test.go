package ts_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
	"svc.dev/svc/workflow"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") == "1"

// stage is a project that runs on a database of its own.
type stage struct {
	t       *testing.T
	dir     string
	address string
	config  ts.Config
	think   func(model.Request) scripted.Turn
	log     *notepad.Pad

	store   *sqlstore.Store
	rt      *svc.Runtime
	project *ts.Project
	server  *httptest.Server
	stop    func()
}

// play runs a project until the test ends.
func play(t *testing.T, archive string, change ...func(*stage)) *stage {
	t.Helper()
	return playIn(t, bundletest.Project(t, archive), change...)
}

// playWith runs a project that imports packages.
func playWith(t *testing.T, archive string, change ...func(*stage)) *stage {
	t.Helper()
	return playIn(t, bundletest.With(t, bundletest.Project(t, archive)), change...)
}

func playIn(t *testing.T, dir string, change ...func(*stage)) *stage {
	t.Helper()
	s := &stage{t: t, dir: dir, address: "sqlite:" + filepath.Join(t.TempDir(), "svc.db"), think: think, log: &notepad.Pad{}}
	for _, f := range change {
		f(s)
	}
	t.Cleanup(func() {
		if s.stop != nil {
			s.stop()
		}
		if t.Failed() {
			t.Logf("log:\n%s", s.log)
		}
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts a node; its stop gives the work back, as a process that ends does.
func (s *stage) start() error {
	s.t.Helper()
	log := slog.New(slog.NewTextHandler(s.log, nil))
	store, err := sqlstore.Open(s.t.Context(), s.address, sqlstore.Config{Poll: 50 * time.Millisecond, Log: log})
	if err != nil {
		return err
	}
	rt, err := svc.New(svc.Config{
		Store: store, Lease: 5 * time.Second, StopTimeout: time.Second, ModelRetry: time.Millisecond, Gather: time.Millisecond, Log: log,
		Model: model.Providers{"scripted": scripted.Choose(s.think)}.Find,
	})
	if err != nil {
		return err
	}
	s.config.Log, s.config.API.Log = log, log
	p, err := ts.Load(s.t.Context(), rt, s.dir, s.config)
	if err != nil {
		_ = store.Close()
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	s.store, s.rt, s.project, s.server = store, rt, p, httptest.NewServer(p)
	s.stop = func() {
		s.stop = nil
		cancel()
		s.server.CloseClientConnections()
		if err := <-ended; err != nil {
			s.t.Errorf("run: %v", err)
		}
		s.server.Close()
		p.Close()
		if err := store.Close(); err != nil {
			s.t.Errorf("close: %v", err)
		}
	}
	return nil
}

// think calls the tool that a prompt names behind "use", with the JSON behind that, and says what the tool said; else it says its
// instructions and what it heard.
func think(r model.Request) scripted.Turn {
	for _, t := range r.Tools {
		if t.Name == "give_result" {
			return scripted.Turn{scripted.Call("give_result", json.RawMessage(`{"n":5}`))}
		}
	}
	last := r.Messages[len(r.Messages)-1]
	if last.Role == model.RoleTool {
		result := last.Parts[0].Result
		said := "The tool says "
		if result.IsError {
			said = "The tool fails: "
		}
		return scripted.Turn{scripted.Say(said + *result.Content[0].Text)}
	}
	text := *last.Parts[0].Text
	if name, input, ok := strings.Cut(strings.TrimPrefix(text, "use "), " "); ok && strings.HasPrefix(text, "use ") {
		return scripted.Turn{scripted.Call(name, json.RawMessage(input))}
	}
	return scripted.Turn{scripted.Say(r.System + " heard " + text)}
}

func (s *stage) invoke(name, input string) string {
	s.t.Helper()
	var raw json.RawMessage
	if input != "" {
		raw = json.RawMessage(input)
	}
	got, err := s.rt.Invoke(s.t.Context(), name, svc.Invocation{Input: raw})
	if err != nil {
		s.t.Fatal(err)
	}
	return got.RunID
}

func (s *stage) await(name, id string) workflow.Run {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience())
	defer cancel()
	run, err := s.rt.Await(ctx, name, id)
	if err != nil {
		s.t.Fatalf("await %s: %v", name, err)
	}
	return run
}

// ends is how a run ends: its result, or the type and message of its error.
func (s *stage) ends(name, input string) string {
	s.t.Helper()
	return ending(s.await(name, s.invoke(name, input)))
}

func ending(run workflow.Run) string {
	if run.Error != nil {
		return fmt.Sprintf("%s %s: %s", run.Error.Type, run.Error.Name, run.Error.Message)
	}
	return string(run.Result)
}

// says prompts an agent's instance, and is its last message when that is settled, or the error of its settlement.
func (s *stage) says(agent, id, text string) (said string) {
	s.t.Helper()
	sent, err := s.rt.Prompt(s.t.Context(), agent, id, svc.Prompt{Message: conversation.Message{Kind: "user", Body: text}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.settled(agent, id, sent.SubmissionID)
}

// settled waits for a submission, any if none is named.
func (s *stage) settled(agent, id, submission string) (said string) {
	s.t.Helper()
	eventually(s.t, agent+"/"+id+" is settled", func() (ok bool) {
		said, ok = s.lastSaid(agent, id, submission)
		return ok
	})
	return said
}

func (s *stage) lastSaid(agent, id, submission string) (said string, settled bool) {
	s.t.Helper()
	snapshot, _, err := s.rt.Conversation(s.t.Context(), agent, id)
	if err != nil {
		return "", false
	}
	data, err := snapshot.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	var read struct {
		Messages    []struct{ Parts []struct{ Text *string } }
		Settlements []struct {
			SubmissionID string
			Error        *conversation.Error
		}
	}
	if err := json.Unmarshal(data, &read); err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(read.Settlements, func(one struct {
		SubmissionID string
		Error        *conversation.Error
	}) bool {
		return submission == "" || one.SubmissionID == submission
	})
	if i < 0 {
		return "", false
	}
	if e := read.Settlements[i].Error; e != nil {
		return e.Type + ": " + e.Message, true
	}
	for _, part := range read.Messages[len(read.Messages)-1].Parts {
		if part.Text != nil {
			said = *part.Text
		}
	}
	return said, true
}

// hears waits until an instance's conversation has a text.
func (s *stage) hears(agent, id, text string) {
	s.t.Helper()
	eventually(s.t, agent+"/"+id+" has "+text, func() bool {
		snapshot, _, err := s.rt.Conversation(s.t.Context(), agent, id)
		if err != nil {
			return false
		}
		data, err := snapshot.Encode()
		return err == nil && strings.Contains(string(data), text)
	})
}

// get is the status and the body of an answer.
func (s *stage) get(path string, header ...string) string {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", header...)
}

func (s *stage) do(method, path, body string, header ...string) string {
	s.t.Helper()
	status, _, text := s.exchange(method, path, body, header...)
	return fmt.Sprintf("%d %s", status, text)
}

func (s *stage) exchange(method, path, body string, header ...string) (int, http.Header, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%s\nand not\n%s", what, got, want)
	}
}

func contains(t *testing.T, what, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("%s is\n%s\nwithout\n%s", what, got, want)
		}
	}
}

// patience bounds a wait. The soak burns processors, which others may want too.
func patience() time.Duration {
	if soak {
		return 3 * time.Minute
	}
	return 20 * time.Second
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(patience()); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("never: %s", what)
		}
	}
}

// faultMeta is all that a fault says, as one text.
func faultMeta(err error) string {
	f := fault.From(err)
	return fmt.Sprintf("%s %s %s %v", f.Type, f.Message, f.Details, f.Meta)
}

// signed is the HMAC of a body, as a provider would send it.
func signed(body string) string {
	mac := hmac.New(sha256.New, []byte("s3cret"))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}
