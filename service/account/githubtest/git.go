package githubtest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// GitRoute is the route of all that git asks for, in faults and in the journal.
const GitRoute = "git"

// repositories are what git fetches.
type repositories struct {
	dir     string
	backend http.Handler
}

// Push makes the main branch of a repository, as owner/name, hold these files and no others, by their names. Folders are not made.
func (s *Server) Push(t testing.TB, repository string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(s.git().dir, repository+".git")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	git := func(in string, args ...string) string {
		c := exec.Command("git", args...)
		c.Dir, c.Stdin, c.Env = dir, strings.NewReader(in), append(alone(dir), "PATH="+os.Getenv("PATH"),
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "--quiet", "--bare", "--initial-branch=main", ".")
	var tree strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&tree, "100644 blob %s\t%s\n", git(files[name], "hash-object", "-w", "--stdin"), name)
	}
	git("", "update-ref", "refs/heads/main", git("", "commit-tree", git(tree.String(), "mktree"), "-m", "work"))
}

func newRepositories(t testing.TB) *repositories {
	home, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Errorf("git: %v", err)
	}
	r := &repositories{dir: t.TempDir()}
	r.backend = &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(home)), "git-http-backend"), Stderr: new(bytes.Buffer), InheritEnv: []string{"PATH"},
		Env: append(alone(r.dir), "GIT_PROJECT_ROOT="+r.dir, "GIT_HTTP_EXPORT_ALL=1"),
	}
	return r
}

// alone is the environment of a git that knows nothing of this machine.
func alone(home string) []string {
	return []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + home}
}

// serveOther answers git, and whoever asks for what there is not.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Path, ".git/") {
		s.serve(w, r, "", (*call).nothing)
		return
	}
	fault := s.note(Request{GitRoute, r.URL.Path, r.Header.Clone(), ""})
	fault.wait(r)
	_, password, _ := r.BasicAuth()
	switch {
	case fault.instead != nil:
		fault.instead.send(w)
	case !strings.HasPrefix(password, "ghs_"):
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		refuse(http.StatusUnauthorized, "Bad credentials").send(w)
	default:
		s.git().backend.ServeHTTP(w, r)
	}
}
