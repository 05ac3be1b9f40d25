package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/internal/command/commandtest"
	"svc.dev/svc/internal/contract/program"
	"svc.dev/svc/service/servicetest"
)

// schemas is where the repository keeps them.
var schemas = filepath.Join("..", "..", "api", "cli")

// newRoot is svc with the verbs of people alone.
func newRoot() *cobra.Command {
	root := command.Root(&cobra.Command{Use: "svc"})
	root.AddCommand(cli.Commands("v0.0.0-test")...)
	return root
}

// done is what came of a command.
type done struct {
	out, err string
	code     int
}

// buffer may be read while it is written.
type buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// runs a command as svc does.
func run(t *testing.T, in string, args ...string) done {
	t.Helper()
	var out, errs buffer
	return runWith(t.Context(), strings.NewReader(in), &out, &errs, args...)
}

func runWith(ctx context.Context, in io.Reader, out, errs *buffer, args ...string) done {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	code := command.OK
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(errs, err)
		if code = command.Failed; command.IsUsage(err) {
			code = command.Misuse
		}
	}
	return done{out.String(), errs.String(), code}
}

// wants fails unless a command ended as expected, and said what it should.
func (d done) wants(t *testing.T, code int, says ...string) done {
	t.Helper()
	if d.code != code {
		t.Errorf("exits with %d, want %d: %s%s", d.code, code, d.out, d.err)
	}
	for _, text := range says {
		if !strings.Contains(d.out+d.err, text) {
			t.Errorf("%q is not in %q, nor in %q", text, d.out, d.err)
		}
	}
	return d
}

// answer is run for a command that answers machines: what it says must fit its schema.
func answer(t *testing.T, code int, name string, into any, args ...string) {
	t.Helper()
	d := run(t, "", append(args, "--json")...).wants(t, code)
	commandtest.Fits(t, schemas, name, d.out)
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(d.out), into); err != nil {
		t.Fatalf("%s: %v: %s", name, err, d.out)
	}
}

func eventually(ok func() bool) bool {
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// alone gives a test settings of its own, and no profile.
func alone(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("HOME", folder)
	for _, name := range cli.Variables() {
		t.Setenv(name, "")
	}
	return filepath.Join(folder, "svc")
}

// atContract runs the contract program, and has commands ask it.
func atContract(t *testing.T) {
	t.Helper()
	alone(t)
	p, err := program.Start(t.Context(), program.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "svc.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	t.Setenv(cli.BaseVariable, p.URL)
}

// member is somebody with a workspace at a service.
type member struct {
	at     *servicetest.Served
	cookie string
	base   string // of the API
	space  string // where the workspace is configured
	key    string
}

// allScopes are what a key may be made for here.
const allScopes = `["agents:read","agents:write","workflows:run","runs:read","projects:read","projects:write"]`

// atService runs a service with somebody in it, whose key commands use.
func atService(t *testing.T) member {
	t.Helper()
	return atServiceOn(t, "")
}

// atServiceOn is atService on a database of its own.
func atServiceOn(t *testing.T, database string) member {
	t.Helper()
	alone(t)
	config := servicetest.Config(t)
	config.Database = database
	m := member{at: servicetest.Start(t, config)}
	res := m.send(t, http.MethodPost, m.at.Platform+"/api/auth/password/register", m.at.Platform, `{"email":"ada@example.com","password":"a calm and long password","username":"ada"}`)
	for _, c := range (&http.Response{Header: res.Header}).Cookies() {
		if c.Name == "svc_session" {
			m.cookie = c.Name + "=" + c.Value
		}
	}
	m.base, m.space = m.at.Agents+"/v1/ada/personal", m.at.Agents+"/api/workspaces/ada/personal"
	m.key = m.makeKey(t, allScopes)
	t.Setenv(cli.BaseVariable, m.base)
	t.Setenv(cli.KeyVariable, m.key)
	return m
}

// send sends a request as a browser at that origin.
func (m member) send(t *testing.T, method, url, origin, body string) servicetest.Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Origin": {origin}, "Content-Type": {"application/json"}, "Cookie": {m.cookie}}
	a := servicetest.Send(t, servicetest.Client, r)
	if a.Status >= 400 {
		t.Fatalf("%s %s: %d %s", method, url, a.Status, a.Body)
	}
	return a
}

func (m member) makeKey(t *testing.T, scopes string) string {
	t.Helper()
	var made struct{ Key string }
	a := m.send(t, http.MethodPost, m.space+"/keys", m.at.Agents, `{"name":"k","scopes":`+scopes+`}`)
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil || made.Key == "" {
		t.Fatalf("key: %s", a.Body)
	}
	return made.Key
}

func (m member) makeProject(t *testing.T, slug string) {
	t.Helper()
	m.send(t, http.MethodPost, m.space+"/projects", m.at.Agents, `{"slug":"`+slug+`","name":"`+slug+`"}`)
}
