package cli_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/cli"
)

// shelf is a service with one file, whose connections break.
type shelf struct {
	mu      sync.Mutex
	content []byte
	cuts    []int // after how many bytes each answer breaks; without one it does not
	asked   []string
	change  func(http.Header) // what a liar makes of an answer
	after   func(n int)       // called behind each answer
	whole   bool              // it knows no parts
}

func newShelf(t *testing.T, size int) *shelf {
	t.Helper()
	alone(t)
	s := &shelf{content: make([]byte, size)}
	for i := range s.content {
		s.content[i] = byte(rand.Uint32())
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv(cli.BaseVariable, server.URL+"/v1/ada/personal")
	return s
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Header.Get("Range"))
	if asked := r.Header.Get("Range"); asked != "" && r.Header.Get("If-Range") == "" {
		s.asked[len(s.asked)-1] += " of anything"
	}
	if s.whole {
		r.Header.Del("Range")
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(s.content)))
	if s.change != nil {
		w = &liar{w, s.change, false}
	}
	most := -1
	if len(s.cuts) > 0 {
		most, s.cuts = s.cuts[0], s.cuts[1:]
	}
	content := s.content
	if s.after != nil {
		defer s.after(len(s.asked))
	}
	http.ServeContent(&breaking{w, most}, r, "", time.Time{}, bytes.NewReader(content))
}

// breaking breaks a connection after so many bytes; a negative number is never.
type breaking struct {
	http.ResponseWriter
	most int
}

func (b *breaking) Write(text []byte) (int, error) {
	if b.most < 0 {
		return b.ResponseWriter.Write(text)
	}
	n := min(b.most, len(text))
	_, _ = b.ResponseWriter.Write(text[:n])
	if b.most -= n; b.most == 0 {
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

// liar changes the head of an answer.
type liar struct {
	http.ResponseWriter
	change func(http.Header)
	done   bool
}

func (l *liar) WriteHeader(status int) {
	if !l.done {
		l.done = true
		l.change(l.Header())
	}
	l.ResponseWriter.WriteHeader(status)
}

// parts are the files beside one that is fetched.
func parts(t *testing.T, name string) []string {
	t.Helper()
	all, err := filepath.Glob(name + ".part-*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *shelf) arrived(t *testing.T, name string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("%d bytes arrived, %v; want %d", len(got), err, len(s.content))
	}
	if left := parts(t, name); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestDownloadGoesOnWhereItBroke(t *testing.T) {
	const size = 300_000
	for _, cuts := range [][]int{{0}, {1}, {size - 1}, {100_000, 100_000}, {1, 1, 1, 1, 1}, {0, 0, 70_000, 0}} {
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			s := newShelf(t, size)
			s.cuts = cuts
			name := filepath.Join(t.TempDir(), "got")
			run(t, "", "projects", "get", "docs/a.bin", name).wants(t, 0, "293.0 KiB")
			s.arrived(t, name)
			want, n := []string{""}, 0
			for _, cut := range cuts {
				if n += cut; n > 0 {
					want = append(want, fmt.Sprintf("bytes=%d-", n))
				} else {
					want = append(want, "")
				}
			}
			if strings.Join(s.asked, ",") != strings.Join(want, ",") {
				t.Errorf("asked for %q, want %q", s.asked, want)
			}
			s.cuts = cuts
			if d := run(t, "", "projects", "get", "docs/a.bin").wants(t, 0); d.out != string(s.content) {
				t.Errorf("%d bytes in a pipe", len(d.out))
			}
		})
	}
}

func TestDownloadGoesOnWhereNobodyKnowsParts(t *testing.T) {
	s := newShelf(t, 100_000)
	s.whole, s.cuts = true, []int{60_000}
	if d := run(t, "", "projects", "get", "docs/a.bin").wants(t, 0); d.out != string(s.content) {
		t.Errorf("%d bytes", len(d.out))
	}
}

// TestAnotherContentIsNotMixedWithTheFirst replaces the file while it is fetched.
func TestAnotherContentIsNotMixedWithTheFirst(t *testing.T) {
	s := newShelf(t, 100_000)
	replaced := func(n int) {
		if n == 1 {
			s.content = bytes.Repeat([]byte("new"), 40_000)
		}
	}
	s.cuts, s.after = []int{60_000}, replaced
	name := filepath.Join(t.TempDir(), "got")
	run(t, "", "projects", "get", "docs/a.bin", name).wants(t, 0)
	s.arrived(t, name)
	s.cuts, s.asked, s.content = []int{60_000}, nil, bytes.Repeat([]byte("old"), 40_000)
	d := run(t, "", "projects", "get", "docs/a.bin").wants(t, 1, "it was changed while it was fetched")
	if len(d.out) != 60_000 || strings.Contains(d.out, "new") {
		t.Errorf("%d bytes were passed on", len(d.out))
	}
}

// TestNextDownloadGoesOnWithWhatIsThere breaks one for good: the next one fetches only the rest.
func TestNextDownloadGoesOnWithWhatIsThere(t *testing.T) {
	s := newShelf(t, 200_000)
	s.cuts = []int{150_000, 0, 0, 0, 0, 0, 0, 0, 0}
	name := filepath.Join(t.TempDir(), "got")
	run(t, "", "projects", "get", "docs/a.bin", name).wants(t, 1, "146.5 KiB of 195.3 KiB arrived: the same command goes on there")
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) || len(parts(t, name)) != 1 {
		t.Errorf("%v, and %v", err, parts(t, name))
	}
	s.cuts, s.asked = nil, nil
	run(t, "", "projects", "get", "docs/a.bin", name).wants(t, 0)
	s.arrived(t, name)
	if strings.Join(s.asked, ",") != ",bytes=150000-" {
		t.Errorf("asked for %q", s.asked)
	}
}

// TestNothingElseIsGoneOnWith plants what another could have left beside the file.
func TestNothingElseIsGoneOnWith(t *testing.T) {
	for name, test := range map[string]struct {
		plant func(part string) error
		code  int
		says  string
	}{
		"other bytes": {func(part string) error { return os.WriteFile(part, []byte("something else"), 0o600) }, 1, "what arrived is not what was sent"},
		"too much":    {func(part string) error { return os.WriteFile(part, make([]byte, 5000), 0o600) }, 0, ""},
		"a link":      {func(part string) error { return os.Symlink(part+".elsewhere", part) }, 1, "too many levels of symbolic links"},
		"a second name of a file": {func(part string) error {
			return errors.Join(os.WriteFile(part+".elsewhere", []byte("mine"), 0o600), os.Link(part+".elsewhere", part))
		}, 1, "is not a file of yours"},
		"a folder": {func(part string) error { return os.Mkdir(part, 0o700) }, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 4000)
			to := filepath.Join(t.TempDir(), "got")
			sum := sha256.Sum256(s.content)
			planted := fmt.Sprintf("%s.part-%x", to, sum[:8])
			if err := test.plant(planted); err != nil {
				t.Fatal(err)
			}
			run(t, "", "projects", "get", "docs/a.bin", to).wants(t, test.code, test.says)
			if test.code == 0 {
				s.arrived(t, to)
			} else if _, err := os.Stat(to); err == nil {
				t.Error("there is a file")
			}
			if text, err := os.ReadFile(planted + ".elsewhere"); err == nil && string(text) != "mine" {
				t.Errorf("another file was written to: %q", text)
			}
		})
	}
}

func TestLiarIsNotBelieved(t *testing.T) {
	for name, change := range map[string]func(http.Header){
		"another part":    func(h http.Header) { h.Set("Content-Range", "bytes 0-99999/100000") },
		"another content": func(h http.Header) { h.Set("ETag", `"another"`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 100_000)
			s.cuts = []int{50_000}
			s.after = func(int) { s.change = change }
			to := filepath.Join(t.TempDir(), "got")
			run(t, "", "projects", "get", "docs/a.bin", to).wants(t, 1, "another part than it was asked for")
			if _, err := os.Stat(to); err == nil {
				t.Error("there is a file")
			}
		})
	}
	t.Run("another etag from the beginning", func(t *testing.T) {
		s := newShelf(t, 100_000)
		s.change = func(h http.Header) { h.Set("ETag", `"`+strings.Repeat("0", 64)+`"`) }
		to := filepath.Join(t.TempDir(), "got")
		run(t, "", "projects", "get", "docs/a.bin", to).wants(t, 1, "what arrived is not what was sent")
		if left := parts(t, to); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	})
}

// TestAFileThatIsReplacedIsReadByNobodyElse keeps the mode of the file before, also while the next one comes.
func TestAFileThatIsReplacedIsReadByNobodyElse(t *testing.T) {
	s := newShelf(t, 4000)
	to := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(to, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.cuts = []int{1000, 0, 0, 0, 0, 0, 0, 0}
	run(t, "", "projects", "get", "docs/a.bin", to).wants(t, 1, "the same command goes on there")
	for _, part := range parts(t, to) {
		if info, err := os.Stat(part); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", part, info.Mode(), err)
		}
	}
	s.cuts = nil
	run(t, "", "projects", "get", "docs/a.bin", to).wants(t, 0)
	s.arrived(t, to)
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// TestAFileWhoseAnswerIsLostIsStored repeats a request that was done: the conflict is with itself.
func TestAFileWhoseAnswerIsLostIsStored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for stored, code := range map[string]int{"mine": 0, "another's": 1} {
		asked := 0
		at(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if asked++; asked == 1 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusPreconditionFailed)
			fmt.Fprintf(w, `{"error":{"type":"version_conflict","message":"It was changed.","details":"","meta":{"version":"\"%x\""}}}`, sha256.Sum256([]byte(stored)))
		})
		d := run(t, "", "projects", "put", file, "docs/a.txt", "--new", "--json").wants(t, code)
		if code == 0 && (!strings.Contains(d.out, fmt.Sprintf(`"etag": "\"%x\""`, sha256.Sum256([]byte("mine")))) || !strings.Contains(d.out, `"bytes": 4`)) {
			t.Errorf("it says %s", d.out)
		}
	}
}
