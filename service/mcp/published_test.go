package mcp_test

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/mcp/mcptest"
)

// published builds one of the programs that the official SDK comes with, and runs it at a port of this machine until the test ends.
// Values are those of its variables, as name=value.
func published(t *testing.T, program string, arguments func(port string) []string, values ...string) (port string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server")
	var flags []string
	for _, v := range values {
		flags = append(flags, "-X", "main."+v)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, "-ldflags", strings.Join(flags, " "), "github.com/modelcontextprotocol/go-sdk/"+program)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, said)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	run := exec.CommandContext(t.Context(), file, arguments(port)...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	accounttest.Eventually(t, program+" listens", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return port
}

// asked calls a tool of a workspace.
func (s scene) asked(t *testing.T, tool, input string) string {
	t.Helper()
	tools, err := s.Tools(t.Context(), space, []string{tool})
	if err != nil || len(tools) != 1 {
		t.Fatalf("%s: %v %v", tool, tools, err)
	}
	got, err := tools[0].Call(t.Context(), []byte(input))
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return said(got)
}

func said(r svc.ToolResult) (text string) {
	for _, b := range r.Content {
		text += b.Text
	}
	return text
}

// TestThePublishedServersAreUsed speaks with the examples of the official SDK, which are programs of their own.
func TestThePublishedServersAreUsed(t *testing.T) {
	byFlag := func(port string) []string { return []string{"-http", "127.0.0.1:" + port} }
	for program, c := range map[string]struct {
		arguments         func(port string) []string
		tool, input, want string
	}{
		"examples/server/everything":    {byFlag, "greet", `{"name":"Ada"}`, "Hi Ada"},
		"examples/http":                 {func(port string) []string { return []string{"-host", "127.0.0.1", "-port", port, "server"} }, "cityTime", `{"city":"nyc"}`, "New York"},
		"conformance/everything-server": {byFlag, "test_simple_text", `{}`, "simple text"},
	} {
		t.Run(program, func(t *testing.T) {
			each(t, func(t *testing.T, s scene) {
				port := published(t, program, c.arguments)
				made := s.add(t, mcp.Draft{Name: "peer", URL: "http://127.0.0.1:" + port})
				d, err := s.Connect(t.Context(), ada, space, made.ID, 0, nil)
				if err != nil || d.Status != mcp.OK || d.ToolCount == 0 {
					t.Fatalf("connect: %+v %v", d, err)
				}
				s.enable(t, d, c.tool)
				if got := s.asked(t, "peer__"+c.tool, c.input); !strings.Contains(got, c.want) {
					t.Errorf("%s said %q", c.tool, got)
				}
			})
		})
	}
}

// TestSomebodySignsInToThePublishedServer signs in to the SDK's example of a server that wants tokens. It asks the authorization
// server about each.
func TestSomebodySignsInToThePublishedServer(t *testing.T) {
	eachJourney(t, func(t *testing.T, j journeys) {
		a := mcptest.NewAuthority(t, mcptest.Options{})
		port := published(t, "examples/auth/server", func(port string) []string { return []string{"-port", port} },
			"authorizationServer="+a.Issuer(), "introspectionEndpoint="+a.Issuer()+"/introspect", "clientID=server", "clientSecret=secret")
		way, err := outward.New(outward.Config{Allow: []string{"127.0.0.1/32", "localhost:" + port}})
		if err != nil {
			t.Fatal(err)
		}
		j.Servers = node(t, j.World, j.log, func(c *mcp.Config) { c.Outward = way })
		d := j.signedIn(t, a, fmt.Sprintf("http://localhost:%s/mcp", port))
		if d.Status != mcp.OK {
			t.Fatalf("signed in: %+v", d)
		}
		if got := j.asked(t, "peer__echo", `{"input":"hi"}`); got != "hi" {
			t.Errorf("echo said %q", got)
		}
		a.EndAccess()
		if got := j.asked(t, "peer__echo", `{"input":"again"}`); got != "again" {
			t.Errorf("with a new token, echo said %q", got)
		}
		if n := len(a.Asked("refresh_token")); n != 1 {
			t.Errorf("renewed %d times", n)
		}
		j.clean(t, a)
	})
}
