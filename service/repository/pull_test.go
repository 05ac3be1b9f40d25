package repository_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/repository"
)

// scene is a node whose projects follow repositories.
type scene struct {
	*projecttest.Scene
	*repository.Repositories
}

// config is what of the rooms a test wants otherwise.
type config struct {
	projecttest.Config
	far repository.Config
}

// with makes the repositories of a node, which are those of the hub.
func with(s *projecttest.Scene, h *hub, c repository.Config) (*scene, error) {
	c.DB, c.Audit, c.Quotas, c.Projects, c.Now = s.DB, s.Audit, s.Quotas, s.Projects, s.Now
	c.Hosts = map[string]string{"github": h.url}
	if c.Token == nil {
		c.Token = func(_ context.Context, _, scope string, installation int64, owner, name string) (string, error) {
			if scope != projecttest.Shop.Scope || installation != 7 || owner != "acme" {
				return "", fault.New("installation_not_yours", "Not yours.", "")
			}
			return token, nil
		}
	}
	all, err := repository.New(c)
	return &scene{s, all}, err
}

func start(t *testing.T, address string, h *hub, c config) *scene {
	t.Helper()
	s, err := with(projecttest.Start(t, address, c.Config), h, c.far)
	projecttest.Must(t, err)
	return s
}

func TestMain(m *testing.M) { projecttest.Main(m, victim) }

// victim pulls until it stops.
func victim(d projecttest.Doom) error {
	ctx := context.Background()
	local, err := projecttest.Open(ctx, d.Address, projecttest.Config{Root: d.Root})
	if err != nil {
		return err
	}
	local.Step = d.Stop
	s, err := with(local, &hub{url: d.Hub}, repository.Config{Step: d.Stop})
	if err != nil {
		return err
	}
	if _, err := s.Create(ctx, projecttest.Ada, projecttest.Shop, project.Draft{Slug: "site"}); err != nil && !fault.Is(err, fault.NameTaken) {
		return err
	}
	fmt.Println("begun")
	if _, err := s.Connect(ctx, projecttest.Ada, projecttest.Shop, "site", 0, repo("site", "")); err != nil {
		return err
	}
	_, err = s.Pull(ctx, projecttest.Ada, projecttest.Shop, "site")
	return err
}

// following is a project that follows a repository of the hub.
func following(t *testing.T, address string, h *hub, c config) *scene {
	t.Helper()
	s := start(t, address, h, c)
	s.Make("site")
	s.connect("site", "")
	return s
}

func (s *scene) connect(name, branch string) {
	s.T.Helper()
	_, err := s.Connect(s.T.Context(), projecttest.Ada, projecttest.Shop, "site", 0, repo(name, branch))
	if err != nil {
		s.T.Fatal(err)
	}
}

func repo(name, branch string) project.Repository {
	return project.Repository{Provider: "github", Owner: "acme", Name: name, Branch: branch, InstallationID: 7}
}

func (s *scene) pull() repository.Pulled {
	s.T.Helper()
	done, err := s.Pull(s.T.Context(), projecttest.Ada, projecttest.Shop, "site")
	if err != nil {
		s.T.Fatal(err)
	}
	return done
}

// files is all files of the project.
func (s *scene) files() map[string]string {
	s.T.Helper()
	all := map[string]string{}
	for _, path := range s.Walk(project.FileQuery{}) {
		all[path] = s.Content("site", path)
	}
	return all
}

func (s *scene) has(want map[string]string) {
	s.T.Helper()
	if got := s.files(); !maps.Equal(got, want) {
		s.T.Errorf("has %v, want %v", got, want)
	}
}

func TestAProjectFollowsItsRepository(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := startHub(t)
		r := h.repository("site")
		first := r.push(map[string]string{"README.md": "one", "src/a.go": "package a", "src/b/c.go": "package c", "gone": "soon"})
		s := following(t, address, h, config{})
		done := s.pull()
		if done.Commit != first || done.Written != 4 || done.ConflictCount != 0 || done.SkipCount != 0 {
			t.Errorf("got %+v", done)
		}
		s.has(map[string]string{"README.md": "one", "src/a.go": "package a", "src/b/c.go": "package c", "gone": "soon"})
		p, err := s.Get(t.Context(), projecttest.Shop, "site")
		if err != nil || p.Pulled.Commit != first || *p.Repository != repo("site", "") || p.FileCount != 4 || !p.Pulled.At.Equal(s.Clock.Now()) {
			t.Errorf("got %+v, %v", p, err)
		}
		if again := s.pull(); again.Commit != first || again.Written+again.Deleted != 0 {
			t.Errorf("got %+v", again)
		}
		second := r.push(map[string]string{"README.md": "two", "src/a.go": "package a", "src/b": "a file now"})
		if done := s.pull(); done.Commit != second || done.Written != 2 || done.Deleted != 2 || done.ConflictCount != 0 {
			t.Errorf("got %+v", done)
		}
		s.has(map[string]string{"README.md": "two", "src/a.go": "package a", "src/b": "a file now"})
		found, err := s.Files(t.Context(), projecttest.Shop, "site", project.FileQuery{Prefix: "README.md"})
		if err != nil || len(found.Items) != 1 || found.Items[0].UpdatedBy != projecttest.Ada {
			t.Errorf("got %+v, %v", found, err)
		}
		s.Agree()
		if left, _ := filepath.Glob(filepath.Join(s.Root, ".pulls", "*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestLocalChangesAreNeverLost(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := startHub(t)
		r := h.repository("site")
		before := map[string]string{}
		for _, name := range []string{"both", "here", "there", "same", "deleted-here", "deleted-there", "deleted-there-changed-here", "deleted-here-changed-there"} {
			before[name] = "before"
		}
		r.push(before)
		s := following(t, address, h, config{})
		s.Save("site", "own", "mine")
		s.Save("site", "own-too", "mine")
		s.pull()
		s.Save("site", "both", "mine")
		s.Save("site", "here", "mine")
		s.Save("site", "same", "theirs")
		s.Save("site", "deleted-there-changed-here", "mine")
		for _, path := range []string{"deleted-here", "deleted-here-changed-there"} {
			projecttest.Must(t, s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", path, project.Condition{}))
		}
		r.push(map[string]string{"both": "theirs", "here": "before", "there": "theirs", "same": "theirs", "deleted-here": "before",
			"deleted-here-changed-there": "theirs", "own-too": "theirs", "new": "theirs"})
		want := map[string]string{"own": "mine", "own-too": "mine", "both": "mine", "here": "mine", "there": "theirs", "same": "theirs", "new": "theirs",
			"deleted-there-changed-here": "mine", "deleted-here-changed-there": "theirs"}
		for range 2 {
			done := s.pull()
			slices.Sort(done.Conflicts)
			if !slices.Equal(done.Conflicts, []string{"both", "deleted-there-changed-here", "own-too"}) || done.ConflictCount != 3 {
				t.Errorf("conflicts %v", done.Conflicts)
			}
			s.has(want)
		}
		if p, err := s.Get(t.Context(), projecttest.Shop, "site"); err != nil || p.Pulled.Conflicts != 3 {
			t.Errorf("got %+v, %v", p.Pulled, err)
		}
		// A conflict ends when the file is deleted here, or is alike.
		projecttest.Must(t, s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "both", project.Condition{}))
		projecttest.Must(t, s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "deleted-there-changed-here", project.Condition{}))
		s.Save("site", "own-too", "theirs")
		if done := s.pull(); done.ConflictCount != 0 || done.Written != 1 {
			t.Errorf("got %+v", done)
		}
		if got := s.Content("site", "both"); got != "theirs" {
			t.Errorf("read %q", got)
		}
		s.Agree()
	})
}

// TestHostileRepositoriesStayOutside pulls what must not become files.
func TestHostileRepositoriesStayOutside(t *testing.T) {
	h := startHub(t)
	r := h.repository("site")
	good, evil := r.blob("good"), r.blob("evil")
	sub := r.object("commit", []byte("tree "+r.tree()+"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n"))
	in := func(name string) twig { return twig{"40000", name, r.tree(twig{"100644", "config", evil})} }
	twigs := []twig{
		{"120000", "link-out", r.blob("../../../../etc/passwd")}, {"120000", "link-abs", r.blob("/etc/passwd")}, {"120000", "link-in", r.blob("good")},
		{"160000", "submodule", sub}, {"100644", ".gitmodules", r.blob("[submodule \"submodule\"]\n\tpath = submodule\n\turl = file:///etc\n")},
		in(".git"), in(".GIT"), in(".git "), in(".git."), in("git~1"), in(".g\u200cit"), in(".git::$INDEX_ALLOCATION"),
		in(".."), in("."), {"100644", "..", evil}, {"100644", "a\\b", evil}, {"100644", "new\nline", evil}, {"100644", "esc\x1b[2J", evil},
		{"100644", "bad\xff", evil}, {"100644", strings.Repeat("n", 300), evil}, {"100644", ".svc-tmp-x", evil}, {"100644", "../../out", evil},
		{"100644", "/etc/evil", evil}, {"100644", "deep/../../out", evil},
		{"100644", "good", good}, {"100644", "good", evil}, {"100755", "runs", good}, {"100644", ".gitattributes", r.blob("* filter=lfs diff=lfs\n*.bin filter=evil\n")},
		{"100644", "big.bin", r.blob("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n")},
	}
	r.commit("main", r.tree(twigs...))
	s := following(t, sqldbtest.SQLite(t), h, config{})
	done := s.pull()
	reasons := map[string]int{}
	for _, skip := range done.Skipped {
		reasons[skip.Reason]++
	}
	want := map[string]int{repository.SkipLink: 3, repository.SkipSubmodule: 1, repository.SkipPath: 20}
	if !maps.Equal(reasons, want) || done.SkipCount != 24 || done.Written != 5 {
		t.Errorf("skipped %v, got %+v", reasons, done)
	}
	names := slices.Sorted(maps.Keys(s.files()))
	if !slices.Equal(names, []string{".gitattributes", ".gitmodules", "big.bin", "good", "runs"}) || s.Content("site", "good") != "good" {
		t.Errorf("has %q", names)
	}
	for _, path := range s.Disk() {
		if !strings.HasPrefix(path, "ada/shop/projects/site/") {
			t.Errorf("made %s", path)
		}
	}
	s.Agree()
}

func TestARepositoryStaysWithinTheQuota(t *testing.T) {
	h := startHub(t)
	big := strings.Repeat("0123456789", 5000)
	h.repository("site").push(map[string]string{"small": "x", "big": big, "half": big[:25_000]})
	for name, c := range map[string]struct {
		config projecttest.Config
		typ    string
	}{
		"limit":      {projecttest.Config{Limit: 60_000}, fault.StorageQuotaExceeded},
		"most files": {projecttest.Config{MaxFiles: 2}, fault.BodyTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s := following(t, sqldbtest.SQLite(t), h, config{Config: c.config})
			s.Save("site", "own", "mine")
			_, err := s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
			f := projecttest.Refused(t, err, c.typ)
			if name == "limit" && (f.Meta["requestedBytes"] != int64(75_001) || f.Meta["limitBytes"] != int64(60_000) || f.Meta["usedBytes"] != int64(4)) {
				t.Errorf("meta %v", f.Meta)
			}
			s.has(map[string]string{"own": "mine"})
			if got := s.Stored(); got.ReservedBytes != 0 || got.UsedBytes != 4 {
				t.Errorf("stored %+v", got)
			}
			s.Agree()
		})
	}
	t.Run("one file", func(t *testing.T) {
		s := following(t, sqldbtest.SQLite(t), h, config{Config: projecttest.Config{MaxFile: 30_000}})
		done := s.pull()
		if done.Written != 2 || len(done.Skipped) != 1 || done.Skipped[0] != (repository.Skip{Path: "big", Reason: repository.SkipTooLarge}) {
			t.Errorf("got %+v", done)
		}
		s.Agree()
	})
}

// TestAPackThatIsTooLargeIsNotFetched has content that cannot be made smaller.
func TestAPackThatIsTooLargeIsNotFetched(t *testing.T) {
	h := startHub(t)
	h.repository("site").push(map[string]string{"noise": string(projecttest.Letter(300_000))})
	s := following(t, sqldbtest.SQLite(t), h, config{Config: projecttest.Config{Limit: 10_000}, far: repository.Config{Slack: 50_000}})
	_, err := s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
	if f := projecttest.Refused(t, err, fault.StorageQuotaExceeded); f.Meta["requestedBytes"].(int64) <= 60_000 || f.Meta["requestedBytes"].(int64) >= 300_000 {
		t.Errorf("meta %v", f.Meta)
	}
	s.Agree()
}

// TestABombIsRefused fetches trees that hold each other a billion times.
func TestABombIsRefused(t *testing.T) {
	h := startHub(t)
	r := h.repository("site")
	tree := r.tree(twig{"100644", "f", r.blob("x")})
	for range 9 {
		var twigs []twig
		for i := range 10 {
			twigs = append(twigs, twig{"40000", fmt.Sprint("d", i), tree})
		}
		tree = r.tree(twigs...)
	}
	r.commit("main", tree)
	s := following(t, sqldbtest.SQLite(t), h, config{Config: projecttest.Config{MaxFiles: 1000}})
	_, err := s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
	projecttest.Refused(t, err, fault.BodyTooLarge)
	s.Agree()
}

// TestAPullOfManyFilesMissesNone has more files than are looked at together.
func TestAPullOfManyFilesMissesNone(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := startHub(t)
		r, files := h.repository("site"), map[string]string{}
		for i := range 1100 {
			files[fmt.Sprintf("d%d/f%04d", i%7, i)] = "x"
		}
		r.push(files)
		s := following(t, address, h, config{})
		if done := s.pull(); done.Written != len(files) {
			t.Errorf("got %+v", done)
		}
		projecttest.Must(t, s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "d0/f0000", project.Condition{}))
		r.push(map[string]string{"d0/f0000": "x", "d1/f0001": "x", "d3/f1095": "y"})
		if done := s.pull(); done.Deleted != len(files)-3 || done.Written != 1 || done.ConflictCount != 0 {
			t.Errorf("then %d deleted, %d written, %d conflicts", done.Deleted, done.Written, done.ConflictCount)
		}
		s.has(map[string]string{"d1/f0001": "x", "d3/f1095": "y"})
		s.Agree()
	})
}

// TestNamesOfARepositoryTakeNoMoreMemoryThanThereIs fetches a repository of a few kilobytes whose names are as long as paths
// may be: first there is no room for them because somebody else has it, then because there is not so much.
func TestNamesOfARepositoryTakeNoMoreMemoryThanThereIs(t *testing.T) {
	h := startHub(t)
	r := h.repository("site")
	tree := r.tree(twig{"100644", "f", r.blob("x")})
	for range 4 {
		var twigs []twig
		for i := range 12 {
			twigs = append(twigs, twig{"40000", strings.Repeat("d", 240) + string(rune('a'+i)), tree})
		}
		tree = r.tree(twigs...)
	}
	r.commit("main", tree)
	budget := memory.New(64 << 20)
	s := following(t, sqldbtest.SQLite(t), h, config{far: repository.Config{Memory: budget, Holder: func(string) string { return "ada" }}})
	other, err := budget.Try("ada", memory.Work, budget.Share()/2)
	projecttest.Must(t, err)
	_, err = s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
	projecttest.Refused(t, err, fault.NotAvailable("").Type)
	other.Release()
	_, err = s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
	projecttest.Refused(t, err, fault.BodyTooLarge)
	if held := budget.Used(memory.Work); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
	s.Agree()
}

func TestAPullThatTheProviderRefusesIsAFault(t *testing.T) {
	h := startHub(t)
	h.repository("site").push(map[string]string{"a": "1"})
	given := token
	c := config{far: repository.Config{Token: func(context.Context, string, string, int64, string, string) (string, error) { return given, nil }}}
	s := following(t, sqldbtest.SQLite(t), h, c)
	s.pull()
	fails := func(w http.ResponseWriter, status int) bool { w.WriteHeader(status); return true }
	redirect := func(to string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/elsewhere") {
				t.Errorf("the redirect was followed, with %q", r.Header.Get("Authorization"))
			}
			http.Redirect(w, r, to+r.URL.RequestURI(), http.StatusMovedPermanently)
			return true
		}
	}
	for _, c := range []struct {
		name   string
		token  string
		answer func(w http.ResponseWriter, r *http.Request) bool
		reason string
	}{
		{"token refused", "ghs_wrong", nil, "unauthorized"},
		{"forbidden", token, func(w http.ResponseWriter, _ *http.Request) bool { return fails(w, 403) }, "unauthorized"},
		{"deleted", token, func(w http.ResponseWriter, _ *http.Request) bool { return fails(w, 404) }, "not_found"},
		{"renamed", token, redirect(h.url + "/elsewhere"), "moved"},
		{"moved to another host", token, redirect("http://localhost:1/elsewhere"), "moved"},
		{"down", token, func(w http.ResponseWriter, _ *http.Request) bool { return fails(w, 500) }, "failed"},
		{"not git", token, func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, "<html>\n<body>hello</body>\n</html>\n")
			return true
		}, "failed"},
		{"broken off", token, func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, "failed"},
		{"silent", token, func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, "timeout"},
		{"no token", "", nil, "unauthorized"},
		{"token of two lines", "a\nb", nil, "unauthorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			given = c.token
			h.answering(c.answer)
			defer h.answering(nil)
			if s.PullTimeout = time.Minute; c.reason == "timeout" {
				s.PullTimeout = 2 * time.Second
			}
			_, err := s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
			f := projecttest.Refused(t, err, fault.ProviderUnavailable)
			if f.Meta["reason"] != c.reason {
				t.Errorf("reason %v: %v", f.Meta["reason"], err)
			}
			if c.token != "" && strings.Contains(fmt.Sprintf("%+v %v", f, err), c.token) {
				t.Error("the error tells the token")
			}
			s.has(map[string]string{"a": "1"})
		})
	}
	given = token
	if done := s.pull(); done.Commit == "" {
		t.Error("a failure left the lease")
	}
	s.Agree()
}

func TestConnectAsksTheRepository(t *testing.T) {
	h := startHub(t)
	r := h.repository("site")
	r.push(map[string]string{"a": "1"})
	r.commit("side/way", r.folder(map[string]string{"a": "2"}))
	h.repository("empty")
	s := start(t, sqldbtest.SQLite(t), h, config{})
	s.Make("site")
	connect := func(r project.Repository) error {
		_, err := s.Connect(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0, r)
		return err
	}
	for _, branch := range []string{"missing", "-main", "../main", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a.lock", ".a", "a/", "/a", "a//b", "@", "a@{1}",
		"a.", "main\n", "\x00", "--upload-pack=id", "refs/heads/../x", strings.Repeat("b", 256), "\xff"} {
		projecttest.Refused(t, connect(repo("site", branch)), fault.InvalidRequest)
	}
	for _, r := range []project.Repository{
		{Provider: "gitlab", Owner: "acme", Name: "site", InstallationID: 7}, {Owner: "acme", Name: "site", InstallationID: 7},
	} {
		projecttest.Refused(t, connect(r), fault.UnknownProvider)
	}
	for _, owner := range []string{"", "..", "a/b", "-x", "a b", "a%2fb", strings.Repeat("o", 40), "a\x00", "a@b", "http:", "é"} {
		projecttest.Refused(t, connect(project.Repository{Provider: "github", Owner: owner, Name: "site", InstallationID: 7}), fault.InvalidRequest)
	}
	for _, name := range []string{"", ".", "..", "...", "a/b", "a b", "site.git", "a%2e", strings.Repeat("n", 101), "a?b", "a#b", "é"} {
		projecttest.Refused(t, connect(project.Repository{Provider: "github", Owner: "acme", Name: name, InstallationID: 7}), fault.InvalidRequest)
	}
	projecttest.Refused(t, connect(project.Repository{Provider: "github", Owner: "acme", Name: "site"}), fault.InvalidRequest)
	projecttest.Refused(t, connect(project.Repository{Provider: "github", Owner: "acme", Name: "site", InstallationID: 8}), "installation_not_yours")
	projecttest.Refused(t, connect(repo("unknown", "")), fault.ProviderUnavailable)
	projecttest.Refused(t, connect(repo("empty", "")), fault.InvalidRequest)
	if p, err := s.Get(t.Context(), projecttest.Shop, "site"); err != nil || p.Repository != nil || p.Version != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
	_, err := s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
	projecttest.Refused(t, err, fault.ItemNotFound)

	projecttest.Must(t, connect(repo("site", "side/way")))
	s.pull()
	s.has(map[string]string{"a": "2"})
	_, err = s.Connect(t.Context(), projecttest.Ada, projecttest.Shop, "site", 1, repo("site", "main"))
	projecttest.Refused(t, err, fault.VersionConflict)
	projecttest.Must(t, connect(repo("site", "main")))
	// The files of the other branch are taken for changed here.
	if done := s.pull(); !slices.Equal(done.Conflicts, []string{"a"}) {
		t.Errorf("got %+v", done)
	}
	p, err := s.Disconnect(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0)
	if err != nil || p.Repository != nil || p.Pulled != nil || p.FileCount != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
	_, err = s.Disconnect(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0)
	projecttest.Refused(t, err, fault.ItemNotFound)
	page, err := s.Audit.Page(t.Context(), audit.Query{Scope: projecttest.Shop.Scope})
	projecttest.Must(t, err)
	var acts []string
	for _, e := range page.Items {
		acts = append(acts, e.Action)
	}
	want := []string{"repository.disconnected", "project.pulled", "repository.connected", "project.pulled", "repository.connected", "project.created"}
	if !slices.Equal(acts, want) {
		t.Errorf("audited %v", acts)
	}
}

func TestWithoutAConnectionOrGitItIsSaid(t *testing.T) {
	node := projecttest.One(t, projecttest.Config{})
	node.Make("site")
	bare, err := repository.New(repository.Config{DB: node.DB, Audit: node.Audit, Quotas: node.Quotas, Projects: node.Projects})
	projecttest.Must(t, err)
	_, err = bare.Connect(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0, repo("site", ""))
	projecttest.Refused(t, err, fault.ProviderConnectionRequired)
	h := startHub(t)
	s := start(t, sqldbtest.SQLite(t), h, config{far: repository.Config{Git: "no-such-git"}})
	s.Make("site")
	_, err = s.Connect(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0, repo("site", ""))
	if f := projecttest.Refused(t, err, fault.ProviderNotConfigured); !strings.Contains(f.Details, "git") {
		t.Errorf("got %v", f)
	}
}

// TestAPullDoesNotOutliveItsFolder refuses a pull so long that the sweeper could take its folder away.
func TestAPullDoesNotOutliveItsFolder(t *testing.T) {
	node := projecttest.One(t, projecttest.Config{})
	for most, ok := range map[time.Duration]bool{0: true, project.ScratchLife / 2: true, project.ScratchLife: false} {
		_, err := repository.New(repository.Config{DB: node.DB, Audit: node.Audit, Quotas: node.Quotas, Projects: node.Projects, PullTimeout: most})
		if (err == nil) != ok {
			t.Errorf("%s: %v", most, err)
		}
	}
}

// TestTheTokenGoesOnlyToTheProvider puts a program before git that takes down how it was called, and looks for the token
// wherever it could be.
func TestTheTokenGoesOnlyToTheProvider(t *testing.T) {
	h := startHub(t)
	r := h.repository("site")
	r.push(map[string]string{"a": "1"})
	real, err := exec.LookPath("git")
	projecttest.Must(t, err)
	spy, notes := filepath.Join(t.TempDir(), "git"), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nn=%s/$$\nprintf '%%s\\n' \"$@\" > $n.argv\nenv > $n.env\n%s \"$@\"\ncode=$?\ncat \"$GIT_DIR/config\" > $n.config 2>/dev/null\nexit $code\n", notes, real)
	projecttest.Must(t, os.WriteFile(spy, []byte(script), 0o700))
	t.Setenv("SVC_SECRET_OF_OURS", "hunter2")
	s := following(t, sqldbtest.SQLite(t), h, config{far: repository.Config{Git: spy}})
	s.pull()
	secrets := []string{token, base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))}
	calls, with := 0, 0
	projecttest.Must(t, filepath.WalkDir(notes, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		tells := strings.Contains(string(text), secrets[0]) || strings.Contains(string(text), secrets[1])
		if strings.Contains(string(text), "hunter2") {
			t.Errorf("%s has what is ours", path)
		}
		if filepath.Ext(path) != ".env" {
			if tells {
				t.Errorf("%s tells the token", path)
			}
			return err
		}
		calls++
		if tells {
			with++
		}
		for _, needed := range []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "core.hooksPath"} {
			if !strings.Contains(string(text), needed) {
				t.Errorf("%s lacks %s", path, needed)
			}
		}
		return err
	}))
	if calls < 6 || with != 3 {
		t.Errorf("%d calls, %d with the token", calls, with)
	}
	h.seen.Range(func(url, auth any) bool {
		if strings.Contains(url.(string), "ghs_") || strings.Contains(url.(string), "@") {
			t.Errorf("the token is in %s", url)
		}
		return true
	})
	for _, path := range s.Disk() {
		text, err := os.ReadFile(filepath.Join(s.Root, path))
		if err != nil || strings.Contains(string(text), token) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestConfigurationOfTheMachineIsNotRead makes a home with hooks and helpers that leave a trace.
func TestConfigurationOfTheMachineIsNotRead(t *testing.T) {
	h := startHub(t)
	r := h.repository("site")
	r.push(map[string]string{"a": "1", "b.txt": "2", ".gitattributes": "* filter=evil"})
	home, trace := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	settings := fmt.Sprintf("[core]\n\thooksPath = %[1]s\n\tfsmonitor = touch %[2]s\n[credential]\n\thelper = !touch %[2]s\n[filter \"evil\"]\n\tsmudge = touch %[2]s\n[url %[3]q]\n\tinsteadOf = %[4]s\n",
		home, trace, "http://127.0.0.1:1/", h.url)
	projecttest.Must(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o600))
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-merge"} {
		projecttest.Must(t, os.WriteFile(filepath.Join(home, hook), []byte("#!/bin/sh\ntouch "+trace+"\n"), 0o700))
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	t.Setenv("GIT_SSH_COMMAND", "touch "+trace)
	t.Setenv("GIT_ASKPASS", filepath.Join(home, "post-merge"))
	t.Setenv("GIT_TRACE", trace)
	s := following(t, sqldbtest.SQLite(t), h, config{})
	if done := s.pull(); done.Written != 3 {
		t.Errorf("got %+v", done)
	}
	if _, err := os.Stat(trace); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something of the machine's configuration was run")
	}
}

func TestOnePullRunsAtATime(t *testing.T) {
	h := startHub(t)
	h.repository("site").push(map[string]string{"a": "1"})
	s := following(t, sqldbtest.SQLite(t), h, config{})
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	h.answering(func(http.ResponseWriter, *http.Request) bool { asked <- struct{}{}; <-answer; return false })
	done := make(chan error)
	go func() {
		_, err := s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
		done <- err
	}()
	<-asked
	_, err := s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
	projecttest.Refused(t, err, fault.AlreadyRunning)
	_, err = s.Disconnect(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0)
	projecttest.Refused(t, err, fault.AlreadyRunning)
	close(answer)
	if err := <-done; err != nil {
		t.Error(err)
	}
	h.answering(nil)
	// One that died is waited for no longer than a minute.
	s.Exec("UPDATE project_repositories SET pull = 'dead', pull_until = $1, commit_id = ''", s.Clock.Now().Add(time.Minute).UnixMilli())
	_, err = s.Pull(t.Context(), projecttest.Ada, projecttest.Shop, "site")
	projecttest.Refused(t, err, fault.AlreadyRunning)
	s.Clock.Advance(time.Minute)
	s.pull()
}

func TestWhoeverLeavesAPullLeavesWholeFiles(t *testing.T) {
	h := startHub(t)
	files := map[string]string{}
	for i := range 150 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint("text ", i)
	}
	h.repository("site").push(files)
	s := following(t, sqldbtest.SQLite(t), h, config{})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s.Step = func(stage string) {
		if stage == "brought" {
			leave()
		}
	}
	if _, err := s.Pull(ctx, projecttest.Ada, projecttest.Shop, "site"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.Step = func(string) {}
	if got := s.files(); len(got) != 64 {
		t.Errorf("%d files", len(got))
	}
	if got := s.Stored(); got.ReservedBytes != 0 {
		t.Errorf("reserved %+v", got)
	}
	s.Agree()
	if done := s.pull(); done.Written != 86 || done.ConflictCount != 0 {
		t.Errorf("got %+v", done)
	}
	s.has(files)
	s.Agree()
}

func TestWhatDiffersFromThePullIsListed(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := startHub(t)
		h.repository("site").push(map[string]string{"a": "one", "b": "two", "c/d": "three"})
		s := following(t, address, h, config{})
		list := func(q listing.Query) (found []string, next string) {
			page, err := s.Differences(t.Context(), projecttest.Shop, "site", q)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page.Items {
				found = append(found, d.Path+" "+d.How)
			}
			return found, page.Next
		}
		s.Save("site", "early", "never pulled")
		if found, _ := list(listing.Query{}); len(found) != 0 {
			t.Errorf("before a pull: %q", found)
		}
		s.pull()
		s.Save("site", "b", "changed")
		s.Save("site", "new", "added")
		if err := s.Remove(t.Context(), projecttest.Ada, projecttest.Shop, "site", "c/d", project.Condition{}); err != nil {
			t.Fatal(err)
		}
		all, _ := list(listing.Query{})
		if want := []string{"b changed", "c/d deleted", "early added", "new added"}; !slices.Equal(all, want) {
			t.Errorf("found %q, want %q", all, want)
		}
		first, next := list(listing.Query{Limit: 3})
		rest, _ := list(listing.Query{Limit: 3, Cursor: next})
		if !slices.Equal(append(first, rest...), all) {
			t.Errorf("page by page: %q, %q", first, rest)
		}
	})
}

func TestAPullTellsHowFarItIs(t *testing.T) {
	h := startHub(t)
	files := map[string]string{}
	for i := range 150 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint("text ", i)
	}
	h.repository("site").push(files)
	s := following(t, sqldbtest.SQLite(t), h, config{})
	look := func() *project.Pulling {
		p, err := s.Get(t.Context(), projecttest.Shop, "site")
		if err != nil {
			t.Fatal(err)
		}
		return p.Pulling
	}
	var told []string
	s.Step = func(stage string) {
		if is := look(); stage == "brought" && is != nil && is.Until.After(s.Clock.Now()) {
			told = append(told, fmt.Sprintf("%d of %d", is.Done, is.Total))
		}
	}
	s.pull()
	s.Step = func(string) {}
	if want := []string{"0 of 150", "64 of 150", "128 of 150"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if is := look(); is != nil {
		t.Errorf("a pull that has ended is at %+v", is)
	}
}

// TestAKilledPullGoesOn kills a process in the midst of its pull; the next one brings the rest.
func TestAKilledPullGoesOn(t *testing.T) {
	h := startHub(t)
	files := map[string]string{}
	for i := range 70 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint("text ", i)
	}
	h.repository("site").push(files)
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		stages := []string{"announced", "performed", "brought"}
		if !strings.HasPrefix(address, "sqlite:") {
			stages = stages[1:2]
		}
		for _, stage := range stages {
			v := projecttest.Doom{Address: address, Root: filepath.Join(t.TempDir(), "root-sandbox"), Stage: stage, Hub: h.url}
			v.Kill(t, 0, func(line string) { t.Fatalf("the victim said %q", line) })
			func() {
				s := start(t, address, h, config{Config: projecttest.Config{Root: v.Root, Now: func() time.Time { return time.Now().Add(time.Hour) }}})
				defer s.DB.Close()
				if _, err := s.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
					t.Error(err)
				}
				if got := s.Stored(); got.ReservedBytes != 0 {
					t.Errorf("%s: reserved %+v", stage, got)
				}
				s.Agree()
				if done := s.pull(); done.ConflictCount != 0 {
					t.Errorf("%s: conflicts %v", stage, done.Conflicts)
				}
				s.has(files)
				s.Agree()
				projecttest.Must(t, s.Delete(t.Context(), projecttest.Ada, projecttest.Shop, "site", 0))
			}()
		}
	})
}
