package project_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
)

func TestMain(m *testing.M) { projecttest.Main(m, victim) }

// victim says what it is about to do and what is done.
func victim(d projecttest.Doom) error {
	ctx := context.Background()
	p, err := projecttest.Open(ctx, d.Address, projecttest.Config{Root: d.Root})
	if err != nil {
		return err
	}
	if _, err := p.Create(ctx, projecttest.Ada, projecttest.Shop, project.Draft{Slug: "site"}); err != nil && !fault.Is(err, fault.NameTaken) {
		return err
	}
	fmt.Println("begun")
	if p.Step = d.Stop; d.Stage != "" {
		return say(ctx, p.Projects, "f0", 1<<20)
	}
	for n := 0; ; n++ {
		if err := work(ctx, p.Projects, n); err != nil {
			return err
		}
	}
}

// work is one of many acts.
func work(ctx context.Context, p *project.Projects, n int) error {
	path := fmt.Sprint("f", n%3)
	switch n % 7 {
	case 5:
		fmt.Println("try", path, "none")
		if err := p.Remove(ctx, projecttest.Ada, projecttest.Shop, "site", path, project.Condition{}); err != nil && !fault.Is(err, fault.ItemNotFound) {
			return err
		}
		fmt.Println("ok", path, "none")
		return nil
	case 6:
		if _, err := p.Move(ctx, projecttest.Ada, projecttest.Shop, "site", "moving/a", "moving/b/c", project.Condition{}); err != nil && !fault.Is(err, fault.ItemNotFound) {
			return err
		}
		if err := p.Remove(ctx, projecttest.Ada, projecttest.Shop, "site", "moving/b/c", project.Condition{}); err != nil && !fault.Is(err, fault.ItemNotFound) {
			return err
		}
		_, _, err := p.Write(ctx, projecttest.Ada, projecttest.Shop, "site", "moving/a", project.Upload{Body: bytes.NewReader(projecttest.Letter(77)), Size: project.Unknown})
		return err
	}
	return say(ctx, p, path, rand.IntN(300_000))
}

func say(ctx context.Context, p *project.Projects, path string, size int) error {
	text := projecttest.Letter(size)
	fmt.Println("try", path, sumOf(text))
	upload := project.Upload{Body: bytes.NewReader(text), Size: int64(len(text))}
	if rand.IntN(2) == 0 {
		upload = project.Upload{Body: projecttest.Stream{Reader: bytes.NewReader(text)}, Size: project.Unknown}
	}
	if _, _, err := p.Write(ctx, projecttest.Ada, projecttest.Shop, "site", path, upload); err != nil {
		return err
	}
	fmt.Println("ok", path, sumOf(text))
	return nil
}

func isWhole(text []byte) bool {
	var size int
	var seed uint64
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	_, err := fmt.Sscanf(string(head), "%d %d", &size, &seed)
	return err == nil && len(rest) == size && bytes.Equal(rest, projecttest.Filling(size, seed))
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// kills is how many processes are killed for each database.
func kills(t *testing.T) int {
	t.Helper()
	soak := os.Getenv("SVC_SOAK") == "1"
	n := 10
	if soak {
		n = 100
	}
	if text := os.Getenv("SVC_KILLS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("SVC_KILLS: %v", err)
		}
	}
	if soak {
		return n
	}
	return max(n/3, 1)
}

// siege kills one process after the other.
type siege struct {
	projecttest.Doom
	t     *testing.T
	could map[string][]string // what each file could be: the last that was acknowledged, and all that was tried since
}

// kill starts a process, kills it some time after it began, and takes down what it said.
func (s *siege) kill(after time.Duration) {
	s.t.Helper()
	s.Kill(s.t, after, func(line string) {
		word, rest, _ := strings.Cut(line, " ")
		path, etag, _ := strings.Cut(rest, " ")
		switch word {
		case "try":
			s.could[path] = append(s.could[path], etag)
		case "ok":
			s.could[path] = []string{etag}
		default:
			s.t.Fatalf("the victim said %q", line)
		}
	})
}

// inspect looks at every file at once, as somebody who knows nothing of the kill, and then after a sweep.
func (s *siege) inspect() {
	s.t.Helper()
	ctx, end := context.WithCancel(s.t.Context())
	defer end()
	late := time.Duration(0)
	p, err := projecttest.Open(ctx, s.Address, projecttest.Config{Root: s.Root, Patience: 100 * time.Millisecond, Now: func() time.Time { return time.Now().Add(late) }})
	projecttest.Must(s.t, err)
	p.T = s.t
	defer p.DB.Close()
	defer p.Close()
	s.look(p.Projects)
	late = time.Hour
	s.sweep(ctx, p, late)
	s.look(p.Projects)
	p.Agree()
	if report, err := p.Audit.Verify(ctx); err != nil || !report.OK() {
		s.t.Errorf("audit: %+v, %v", report, err)
	}
}

// sweep sweeps until nothing is reserved: where the database is another process, the last statement of the dead may end after
// a sweep.
func (s *siege) sweep(ctx context.Context, p *projecttest.Scene, late time.Duration) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, err := p.Sweep(ctx, time.Now().Add(late)); err != nil {
			s.t.Fatalf("sweep: %v", err)
		}
		is := p.Stored()
		if is.ReservedBytes == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("storage %+v", is)
		}
	}
}

func (s *siege) look(p *project.Projects) {
	s.t.Helper()
	for _, path := range []string{"f0", "f1", "f2", "moving/a", "moving/b/c"} {
		c, err := p.Open(s.t.Context(), projecttest.Shop, "site", path)
		is := "none"
		if err == nil {
			text, err := io.ReadAll(c)
			c.Close()
			if err != nil || !isWhole(text) || sumOf(text) != c.ETag {
				s.t.Errorf("%s is not whole: %d bytes, %v", path, len(text), err)
			}
			is = c.ETag
		} else if !fault.Is(err, fault.ItemNotFound) {
			s.t.Errorf("%s: %v", path, err)
		}
		if could := s.could[path]; len(could) > 0 && !slices.Contains(could, is) {
			s.t.Errorf("%s is %s, and could be %v", path, is, could)
		}
	}
}

func newSiege(t *testing.T, address string) *siege {
	return &siege{t: t, Doom: projecttest.Doom{Address: address, Root: filepath.Join(t.TempDir(), "root-sandbox")}, could: map[string][]string{"f0": {"none"}, "f1": {"none"}, "f2": {"none"}}}
}

// TestAKillLeavesTheOldOrTheNewFile kills processes at random moments of their uploads, moves and deletions.
func TestAKillLeavesTheOldOrTheNewFile(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := newSiege(t, address)
		for range kills(t) {
			s.kill(time.Duration(rand.Int64N(int64(150 * time.Millisecond))))
			s.inspect()
		}
	})
}

// TestAKillAtEveryStageHeals kills a process that is between two steps: with bytes reserved, with a whole temporary file,
// with a change on record, with a file that the index does not know yet.
func TestAKillAtEveryStageHeals(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := newSiege(t, address)
		for _, stage := range []string{"reserved", "received", "announced", "performed", "finished"} {
			s.Stage = stage
			s.kill(0)
			s.inspect()
			if n := len(s.could["f0"]); n == 0 {
				t.Fatalf("%s: nothing was tried", stage)
			}
		}
	})
}
