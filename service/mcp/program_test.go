package mcp_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/mcp/mcptest"
)

// staff is the scope whose servers may be programs in these tests.
const staff = "admin"

// ours is a variable of the service that no program is given.
const ours = "MCP_TEST_OURS"

func withPrograms(c *mcp.Config) { c.Programs = staff }

// talker is a program that speaks MCP, and is given a secret.
func talker(t *testing.T) mcp.Draft {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Draft{Name: "talker", Transport: mcp.Stdio, Command: self, Args: []string{"-test.run=^$"}, Env: map[string]string{mcptest.Speaks: "yes", "PIN": "1234-planted"}}
}

func TestProgramIsStartedAndCalled(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		d, err := s.Create(t.Context(), ada, staff, talker(t))
		if err != nil {
			t.Fatal(err)
		}
		if d.URL != "" || d.Transport != mcp.Stdio || !slices.Equal(d.Env, []string{mcptest.Speaks, "PIN"}) || !d.TokenPresent {
			t.Errorf("a program is shown as %+v", d.Server)
		}
		if text, err := json.Marshal(d); err != nil || strings.Contains(string(text), "planted") {
			t.Errorf("a variable is shown: %s, %v", text, err)
		}
		if d, err = s.Connect(t.Context(), ada, staff, d.ID, 0, nil); err != nil || d.Status != mcp.OK || len(d.Tools) != 1 {
			t.Fatalf("connected as %+v, %v", d, err)
		}
		if _, err := s.Enable(t.Context(), ada, staff, d.ID, "variable", 0, true); err != nil {
			t.Fatal(err)
		}
		tools, err := s.Tools(t.Context(), staff, []string{"talker"})
		if err != nil || len(tools) != 1 {
			t.Fatalf("tools: %v, %v", tools, err)
		}
		for name, want := range map[string]string{"PIN": "1234-planted", ours: ""} {
			result, err := tools[0].Call(t.Context(), []byte(`{"Name":"`+name+`"}`))
			if err != nil || said(result) != want {
				t.Errorf("%s is %q, %v; want %q", name, said(result), err, want)
			}
		}
	}, withPrograms)
}

func TestAnotherProgramIsNotGivenTheVariables(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		d, err := s.Create(t.Context(), ada, staff, talker(t))
		if err != nil {
			t.Fatal(err)
		}
		command, none := "/bin/true", []string{}
		d, err = s.Patch(t.Context(), ada, staff, d.ID, 0, mcp.Edit{Command: &command, Args: &none})
		if err != nil || d.TokenPresent || len(d.Env) != 0 || d.Command != command || d.Version != 2 {
			t.Errorf("changed to %+v, %v", d.Server, err)
		}
		_, err = s.Connect(t.Context(), ada, staff, d.ID, 0, nil)
		wants(t, err, mcp.Unreachable)
		if d, err = s.Get(t.Context(), staff, d.ID); err != nil || d.Status != mcp.Down || !strings.Contains(d.Reason, "program") {
			t.Errorf("it is %s because %q, %v", d.Status, d.Reason, err)
		}
		if same, err := s.Patch(t.Context(), ada, staff, d.ID, 0, mcp.Edit{Command: &command}); err != nil || same.Version != d.Version {
			t.Errorf("no change made version %d, %v", same.Version, err)
		}
		address := "https://x.example"
		_, err = s.Patch(t.Context(), ada, staff, d.ID, 0, mcp.Edit{URL: &address})
		wants(t, err, fault.InvalidRequest)
	}, withPrograms)
}

func TestProgramsAreForStaffAlone(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		draft := talker(t)
		_, err := s.Create(t.Context(), ada, space, draft)
		wants(t, err, fault.InvalidRequest)
		called := s.add(t, mcp.Draft{Name: "called", URL: "https://x.example"})
		_, err = s.Patch(t.Context(), ada, space, called.ID, 0, mcp.Edit{Command: &draft.Command})
		wants(t, err, fault.InvalidRequest)
		for what, change := range map[string]func(*mcp.Draft){
			"no command":    func(d *mcp.Draft) { d.Command = "" },
			"an address":    func(d *mcp.Draft) { d.URL = "https://x.example" },
			"a token":       func(d *mcp.Draft) { d.Token = "t" },
			"a zero byte":   func(d *mcp.Draft) { d.Args = []string{"a\x00b"} },
			"a bad name":    func(d *mcp.Draft) { d.Env = map[string]string{"A=B": "c"} },
			"many words":    func(d *mcp.Draft) { d.Args = make([]string, 65) },
			"much to carry": func(d *mcp.Draft) { d.Env = map[string]string{"A": strings.Repeat("b", 8<<10)} },
			"its transport": func(d *mcp.Draft) { d.Transport = "" },
		} {
			d := talker(t)
			change(&d)
			if _, err := s.Create(t.Context(), ada, staff, d); !fault.Is(err, fault.InvalidRequest) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}, withPrograms)
}
