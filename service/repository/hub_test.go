package repository_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/service/project/projecttest"
)

const token = "ghs_" + "SecretTokenOfTheInstallation0123456789"

// hub is a git server over http that wants the token.
type hub struct {
	t    *testing.T
	dir  string
	url  string
	seen sync.Map // paths that were asked for, and what was sent with them

	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
}

func startHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, dir: t.TempDir()}
	home, err := exec.Command("git", "--exec-path").Output()
	projecttest.Must(t, err)
	backend := &cgi.Handler{
		Path:       filepath.Join(strings.TrimSpace(string(home)), "git-http-backend"),
		Env:        []string{"GIT_PROJECT_ROOT=" + h.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + h.dir},
		InheritEnv: []string{"GIT_CONFIG_COUNT", "PATH"}, Stderr: new(bytes.Buffer),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.seen.Store(r.URL.String(), r.Header.Get("Authorization"))
		h.mu.Lock()
		answer := h.answer
		h.mu.Unlock()
		if answer != nil && answer(w, r) {
			return
		}
		if user, password, ok := r.BasicAuth(); !ok || user != "x-access-token" || password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="hub"`)
			http.Error(w, "bad credentials", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	t.Setenv("NO_PROXY", "127.0.0.1")
	t.Setenv("no_proxy", "127.0.0.1")
	return h
}

func (h *hub) answering(fn func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = fn
}

// origin is a repository at the hub, whose objects are written by hand: git itself would refuse the hostile ones.
type origin struct {
	t   *testing.T
	dir string
}

func (h *hub) repository(name string) *origin {
	h.t.Helper()
	r := &origin{h.t, filepath.Join(h.dir, "acme", name+".git")}
	projecttest.Must(h.t, os.MkdirAll(r.dir, 0o700))
	r.git("init", "--quiet", "--bare", "--initial-branch=main", ".")
	return r
}

func (r *origin) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = r.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + r.dir}
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// object writes a loose object of any content.
func (r *origin) object(kind string, content []byte) string {
	r.t.Helper()
	whole := append([]byte(fmt.Sprintf("%s %d\x00", kind, len(content))), content...)
	sum := sha1.Sum(whole)
	name := hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write(whole)
	projecttest.Must(r.t, err)
	projecttest.Must(r.t, z.Close())
	projecttest.Must(r.t, os.MkdirAll(filepath.Join(r.dir, "objects", name[:2]), 0o700))
	projecttest.Must(r.t, os.WriteFile(filepath.Join(r.dir, "objects", name[:2], name[2:]), packed.Bytes(), 0o600))
	return name
}

// branch of a tree, as it is written.
type twig struct{ mode, name, object string }

func (r *origin) tree(twigs ...twig) string {
	r.t.Helper()
	var content bytes.Buffer
	for _, w := range twigs {
		raw, err := hex.DecodeString(w.object)
		projecttest.Must(r.t, err)
		fmt.Fprintf(&content, "%s %s\x00%s", w.mode, w.name, raw)
	}
	return r.object("tree", content.Bytes())
}

func (r *origin) blob(text string) string { return r.object("blob", []byte(text)) }

// folder makes trees of paths.
func (r *origin) folder(files map[string]string) string {
	r.t.Helper()
	below := map[string]map[string]string{}
	var twigs []twig
	for path, text := range files {
		first, rest, deep := strings.Cut(path, "/")
		if !deep {
			twigs = append(twigs, twig{"100644", path, r.blob(text)})
			continue
		}
		if below[first] == nil {
			below[first] = map[string]string{}
		}
		below[first][rest] = text
	}
	for name, files := range below {
		twigs = append(twigs, twig{"40000", name, r.folder(files)})
	}
	slices.SortFunc(twigs, func(a, b twig) int { return strings.Compare(order(a), order(b)) })
	return r.tree(twigs...)
}

// order is how git sorts: a tree as if its name ended in a slash.
func order(w twig) string {
	if w.mode == "40000" {
		return w.name + "/"
	}
	return w.name
}

// commit makes a branch point to a tree, and gives the commit.
func (r *origin) commit(branch, tree string) string {
	r.t.Helper()
	text := "tree " + tree + "\nauthor Ada <ada@example.com> 1782907500 +0000\ncommitter Ada <ada@example.com> 1782907500 +0000\n\nwork\n"
	name := r.object("commit", []byte(text))
	r.git("update-ref", "refs/heads/"+branch, name)
	return name
}

func (r *origin) push(files map[string]string) string {
	r.t.Helper()
	return r.commit("main", r.folder(files))
}
