package gateway_test

import (
	"bytes"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// gitHost serves repositories over http, as a provider does, to requests with an installation's token.
type gitHost struct {
	url, dir string

	mu    sync.Mutex
	shown map[string]bool // passwords
}

func startGitHost(t *testing.T) *gitHost {
	t.Helper()
	h := &gitHost{dir: t.TempDir(), shown: map[string]bool{}}
	home, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(home)), "git-http-backend"), Stderr: new(bytes.Buffer), InheritEnv: []string{"PATH"},
		Env: []string{"GIT_PROJECT_ROOT=" + h.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + h.dir},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if !strings.HasPrefix(password, "ghs_") {
			w.Header().Set("WWW-Authenticate", `Basic realm="hub"`)
			http.Error(w, "bad credentials", http.StatusUnauthorized)
			return
		}
		h.mu.Lock()
		h.shown[password] = true
		h.mu.Unlock()
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// push makes the main branch of a repository hold one file.
func (h *gitHost) push(t *testing.T, repository, name, text string) {
	t.Helper()
	dir := filepath.Join(h.dir, repository+".git")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	git := func(in string, args ...string) string {
		c := exec.Command("git", args...)
		c.Dir, c.Stdin = dir, strings.NewReader(in)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + dir,
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com"}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "--quiet", "--bare", "--initial-branch=main", ".")
	blob := git(text, "hash-object", "-w", "--stdin")
	tree := git("100644 blob "+blob+"\t"+name+"\n", "mktree")
	git("", "update-ref", "refs/heads/main", git("", "commit-tree", tree, "-m", "work"))
}
