package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/toolbox"
	"svc.dev/svc/service/workspace"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Reuse(m)) }

// bench is a box on real projects, and who may do what.
type bench struct {
	*testing.T
	*projecttest.Scene
	box *toolbox.Box
	may map[workspace.Right]bool
	// what was asked of the judge: the right, the scope of a key, the project
	asked []string
	mu    sync.Mutex
	rt    *svc.Runtime
	full  atomic.Bool // the workspace takes no more work

	partners []toolbox.Partner
}

// all is every tool.
var all = []string{"list_files", "read_file", "write_file", "edit_file", "search_files", "http_fetch", "ask_agent", "run_workflow"}

func open(t *testing.T, s *projecttest.Scene, web outward.Config) *bench {
	t.Helper()
	return openWith(t, s, web, func(*toolbox.Config) {})
}

func openWith(t *testing.T, s *projecttest.Scene, web outward.Config, change func(*toolbox.Config)) *bench {
	t.Helper()
	b := &bench{T: t, Scene: s, may: map[workspace.Right]bool{workspace.Read: true, workspace.Work: true}}
	guard, err := outward.New(web)
	if err != nil {
		t.Fatal(err)
	}
	c := toolbox.Config{
		Runtime: func() *svc.Runtime { return b.rt }, Fetch: guard, Log: slog.New(slog.DiscardHandler),
		Partners: func(context.Context, string) ([]toolbox.Partner, error) { return b.partners, nil },
		Admit: func(context.Context, string) error {
			if b.full.Load() {
				return fault.New(fault.StorageQuotaExceeded, "The workspace is full.", "")
			}
			return nil
		},
		May: func(_ context.Context, call svc.Call, need access.Need, project string) (access.Acting, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			right, _ := need.Inside()
			b.asked = append(b.asked, strings.Join([]string{call.By, string(right), need.Scope(), project}, " "))
			if !b.may[right] {
				return access.Acting{}, fault.New(fault.Forbidden, "Your role does not allow this.", "")
			}
			return access.Acting{Actor: projecttest.Ada, Workspace: projecttest.Shop.Workspace}, nil
		},
	}
	if s != nil {
		c.Projects = s.Projects
	}
	change(&c)
	if b.box, err = toolbox.New(c); err != nil {
		t.Fatal(err)
	}
	return b
}

// files is a box with one project.
func files(t *testing.T) *bench {
	t.Helper()
	s := projecttest.One(t, projecttest.Config{})
	s.Make("site")
	return open(t, s, outward.Config{})
}

// grant is what most agents of these tests are given.
var grant = toolbox.Grant{Agent: "a", Tools: all, Projects: []string{"site"}}

func called(ctx context.Context) context.Context {
	return svc.WithCall(ctx, svc.Call{Scope: projecttest.Shop.Scope, Agent: "a", Instance: "1", Submission: "s", ID: "call_1", By: "ada"})
}

// use calls a tool as an agent does, with input as JSON.
func (b *bench) use(g toolbox.Grant, name string, input any) (string, error) {
	b.Helper()
	tools, err := b.box.Tools(b.Context(), projecttest.Shop.Scope, g)
	if err != nil {
		b.Fatal(err)
	}
	i := slices.IndexFunc(tools, func(t svc.Tool) bool { return t.Name == name })
	if i < 0 {
		b.Fatalf("there is no tool %s", name)
	}
	data, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	result, err := tools[i].Call(called(b.Context()), data)
	if err != nil {
		return "", err
	}
	if len(result.Content) == 0 {
		return string(result.Output), nil
	}
	return result.Content[0].Text, nil
}

// gives fails unless a tool answers with that.
func (b *bench) gives(name string, input any, want string) {
	b.Helper()
	got, err := b.use(grant, name, input)
	if err != nil || got != want {
		b.Errorf("%s %v: %q, %v, want %q", name, input, got, err, want)
	}
}

// refuses fails unless a tool fails with a fault whose message and details hold that.
func (b *bench) refuses(g toolbox.Grant, name string, input any, typ, want string) {
	b.Helper()
	got, err := b.use(g, name, input)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Type != typ || !strings.Contains(f.Message+" "+f.Details, want) {
		b.Errorf("%s %v: %q, %v, want %s %q", name, input, got, err, typ, want)
	}
}

type object = map[string]any

func TestCatalogueIsAllThatTheContractNames(t *testing.T) {
	var names []string
	for _, e := range toolbox.Catalogue() {
		names = append(names, e.Name)
		var schema struct {
			Type       string
			Properties map[string]any
		}
		if err := json.Unmarshal(e.InputSchema, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 || e.Description == "" || e.Source != toolbox.BuiltIn {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if !slices.Equal(names, all) {
		t.Errorf("tools: %v", names)
	}
}

func TestAnAgentIsGivenWhatItsGrantNames(t *testing.T) {
	b := open(t, nil, outward.Config{})
	tools, err := b.box.Tools(t.Context(), "users/ada/shop", toolbox.Grant{Tools: []string{"http_fetch", "crm__find", "read_file"}})
	if err != nil || len(tools) != 2 || tools[0].Name != "http_fetch" || tools[1].Name != "read_file" {
		t.Errorf("tools: %+v, %v", tools, err)
	}
	if known, err := b.box.Tools(t.Context(), "users/ada/shop", toolbox.Grant{Tools: []string{"fly", "read_file"}}); err != nil || len(known) != 1 {
		t.Errorf("with an unknown tool: %+v, %v", known, err)
	}
	for _, one := range tools {
		if one.Timeout <= 0 {
			t.Errorf("%s takes as long as it likes", one.Name)
		}
	}
}

// TestEachToolAsksWhatItsCallerMay takes rights away one after the other.
func TestEachToolAsksWhatItsCallerMay(t *testing.T) {
	b := files(t)
	b.Save("site", "a.txt", "one\n")
	g := grant
	g.Hosts = []string{"example.com"}
	b.may = map[workspace.Right]bool{}
	for _, c := range []struct {
		tool  string
		input object
		asks  string
	}{
		{"list_files", object{}, "ada read projects:read "},
		{"list_files", object{"project": "site"}, "ada read projects:read site"},
		{"read_file", object{"project": "site", "path": "a.txt"}, "ada read projects:read site"},
		{"search_files", object{"project": "site", "text": "one"}, "ada read projects:read site"},
		{"write_file", object{"project": "site", "path": "a.txt", "content": "x"}, "ada work projects:write site"},
		{"edit_file", object{"project": "site", "path": "a.txt", "old": "one", "new": "x"}, "ada work projects:write site"},
		{"http_fetch", object{"url": "https://example.com/"}, "ada work agents:write "},
		{"run_workflow", object{"workflow": "w"}, "ada work workflows:run "},
	} {
		b.asked = nil
		b.refuses(g, c.tool, c.input, fault.Forbidden, "Your role does not allow this.")
		if !slices.Equal(b.asked, []string{c.asks}) {
			t.Errorf("%s asked for %q", c.tool, b.asked)
		}
	}
	if got := b.Content("site", "a.txt"); got != "one\n" {
		t.Errorf("the file is now %q", got)
	}
}

// TestAToolThatIsLentIsCalledByTheRightsOfWhoeverPrompted lends a tool of another room.
func TestAToolThatIsLentIsCalledByTheRightsOfWhoeverPrompted(t *testing.T) {
	b, calls := open(t, nil, outward.Config{}), 0
	own := svc.RawTool("crm__find", "Finds.", json.RawMessage(`{"type":"object"}`), func(_ context.Context, input json.RawMessage) (svc.ToolResult, error) {
		if calls++; string(input) == `{"fail":true}` {
			return svc.ToolResult{}, errors.New("dial tcp 10.0.0.1: refused")
		}
		return svc.ToolResult{Output: input}, nil
	})
	own.Timeout, own.Repeats = time.Minute, true
	lent := b.box.Lend(projecttest.Shop.Scope, own)
	if lent.Name != own.Name || lent.Description != own.Description || lent.Timeout != own.Timeout || !lent.Repeats || string(lent.InputSchema()) != `{"type":"object"}` {
		t.Errorf("lent: %+v", lent)
	}
	if got, err := lent.Call(called(t.Context()), json.RawMessage(`{"a":1}`)); err != nil || string(got.Output) != `{"a":1}` {
		t.Errorf("called: %+v, %v", got, err)
	}
	if !slices.Equal(b.asked, []string{"ada work agents:write "}) {
		t.Errorf("asked %q", b.asked)
	}
	if _, err := lent.Call(called(t.Context()), json.RawMessage(`{"fail":true}`)); err == nil || strings.Contains(err.Error(), "10.0.0.1") {
		t.Errorf("what failed inside: %v", err)
	}
	b.may = map[workspace.Right]bool{workspace.Read: true}
	if _, err := lent.Call(called(t.Context()), json.RawMessage(`{}`)); !fault.Is(err, fault.Forbidden) {
		t.Errorf("without the right: %v", err)
	}
	if _, err := b.box.Lend(projecttest.Bakery.Scope, own).Call(called(t.Context()), json.RawMessage(`{}`)); !fault.Is(err, fault.Forbidden) {
		t.Errorf("in another workspace: %v", err)
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

// TestAToolWorksForTheScopeItWasMadeFor calls it for nobody, and for another workspace.
func TestAToolWorksForTheScopeItWasMadeFor(t *testing.T) {
	b := files(t)
	tools, err := b.box.Tools(t.Context(), projecttest.Bakery.Scope, grant)
	if err != nil {
		t.Fatal(err)
	}
	for _, ctx := range []context.Context{t.Context(), called(t.Context())} {
		_, err := tools[0].Call(ctx, []byte(`{"project":"site"}`))
		if !fault.Is(err, fault.Forbidden) || len(b.asked) > 0 {
			t.Errorf("called: %v, asked %q", err, b.asked)
		}
	}
}
