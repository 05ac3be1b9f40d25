package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// shells are what a person types who wants completion, and how the shell is started without what others have set.
var shells = map[string]struct {
	args   []string
	source string
}{
	"bash": {[]string{"--norc", "--noprofile", "-i"}, "source <(svc completion bash)"},
	"zsh":  {[]string{"-f", "-i"}, "autoload -U compinit; compinit -u -D; source <(svc completion zsh)"},
	"fish": {[]string{"--no-config", "-i"}, "svc completion fish | source"},
}

// TestShellsComplete sits at each shell that is installed, sources what svc prints, and presses Tab.
func TestShellsComplete(t *testing.T) {
	names := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[{"name":"central"},{"name":"reviewer"},{"name":"x$(touch pwned)"},{"name":"x;touch pwned"},{"name":"x\u001b]0;title\u0007"},{"name":"x\ntouch pwned"}]}`)
	}))
	t.Cleanup(names.Close)
	for shell, how := range shells {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("there is no %s here", shell)
			}
			folder := t.TempDir()
			env := []string{"HOME=" + folder, "SVC_BASE_URL=" + names.URL + "/v1/ada/personal", "SVC_API_KEY=svck_x", "PS1=ready> ", "fish_greeting="}
			s := sitAt(t, env, shell, how.args...)
			s.types(t, "cd "+folder+"\r")
			s.types(t, how.source+"; echo sour''ced\r")
			s.awaits(t, 0, "sourced")
			// Words that can be only one are written out.
			s.does(t, "echo A; svc agents ta\t", "svc agents tail")
			s.does(t, "\x15svc agents send cen\t", "svc agents send central")
			s.does(t, "\x15svc agents send rev\t", "svc agents send reviewer")
			s.does(t, "\x15svc runs list --sta\t", "--status")
			// What a shell would run is not offered, and not run.
			s.types(t, "\x15svc agents send x\t\t")
			s.does(t, "\x15echo al''ive\r", "alive")
			if _, err := os.Stat(filepath.Join(folder, "pwned")); err == nil {
				t.Errorf("a name was run: %q", s.seen())
			}
			s.types(t, "exit\r")
			s.exits(t, 0)
		})
	}
}
