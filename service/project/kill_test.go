package project_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/project"
)

// victimEnv makes the test binary a process that writes files until somebody kills it: it holds a doom as JSON.
const victimEnv = "SVC_PROJECT_VICTIM"

// doom is what a process that will be killed works on.
type doom struct {
	Address, Root string
	Stage         string // where it stops and waits; "": it works on
	Hub           string // what it pulls from; "": it writes
}

func TestMain(m *testing.M) {
	if text := os.Getenv(victimEnv); text != "" {
		fmt.Println("died:", victim(text))
		os.Exit(1)
	}
	goleak.VerifyTestMain(sqldbtest.Tests{M: m})
}

// victim says what it is about to do and what is done.
func victim(text string) error {
	var d doom
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	ctx := context.Background()
	db, log, err := openDB(ctx, d.Address)
	if err != nil {
		return err
	}
	p, err := project.New(withHub(&hub{url: d.Hub}, project.Config{DB: db, Audit: log, Root: d.Root, Log: quiet}))
	if err != nil {
		return err
	}
	if _, err := p.Create(ctx, ada, shop, project.Draft{Slug: "site"}); err != nil && !fault.Is(err, project.NameTaken) {
		return err
	}
	fmt.Println("begun")
	if d.Stage != "" {
		project.OnStep(p, func(stage string) {
			if stage == d.Stage {
				fmt.Println("at", stage)
				select {}
			}
		})
		if d.Hub == "" {
			return say(ctx, p, "f0", 1<<20)
		}
		if _, err := p.Connect(ctx, ada, shop, "site", 0, repo("site", "")); err != nil {
			return err
		}
		_, err := p.Pull(ctx, ada, shop, "site")
		return err
	}
	for n := 0; ; n++ {
		path := fmt.Sprint("f", n%3)
		switch n % 7 {
		case 5:
			fmt.Println("try", path, "none")
			if err := p.Remove(ctx, ada, shop, "site", path, project.Condition{}); err != nil && !fault.Is(err, project.ItemNotFound) {
				return err
			}
			fmt.Println("ok", path, "none")
		case 6:
			if _, err := p.Move(ctx, ada, shop, "site", "moving/a", "moving/b/c", project.Condition{}); err != nil && !fault.Is(err, project.ItemNotFound) {
				return err
			}
			if err := p.Remove(ctx, ada, shop, "site", "moving/b/c", project.Condition{}); err != nil && !fault.Is(err, project.ItemNotFound) {
				return err
			}
			if _, _, err := p.Write(ctx, ada, shop, "site", "moving/a", project.Upload{Body: bytes.NewReader(letter(77)), Size: project.Unknown}); err != nil {
				return err
			}
		default:
			if err := say(ctx, p, path, rand.IntN(300_000)); err != nil {
				return err
			}
		}
	}
}

func say(ctx context.Context, p *project.Projects, path string, size int) error {
	text := letter(size)
	fmt.Println("try", path, sumOf(text))
	upload := project.Upload{Body: bytes.NewReader(text), Size: int64(len(text))}
	if rand.IntN(2) == 0 {
		upload = project.Upload{Body: stream{bytes.NewReader(text)}, Size: project.Unknown}
	}
	if _, _, err := p.Write(ctx, ada, shop, "site", path, upload); err != nil {
		return err
	}
	fmt.Println("ok", path, sumOf(text))
	return nil
}

// letter is a text that tells whether it is whole.
func letter(size int) []byte {
	seed := rand.Uint64()
	text := []byte(fmt.Sprintf("%d %d\n", size, seed))
	return append(text, filling(size, seed)...)
}

func filling(size int, seed uint64) []byte {
	source := rand.NewPCG(seed, 1)
	text := make([]byte, 0, size+8)
	for len(text) < size {
		text = strconv.AppendUint(text, source.Uint64(), 36)
	}
	return text[:size]
}

func isWhole(text []byte) bool {
	var size int
	var seed uint64
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	_, err := fmt.Sscanf(string(head), "%d %d", &size, &seed)
	return err == nil && len(rest) == size && bytes.Equal(rest, filling(size, seed))
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
	doom
	t     *testing.T
	could map[string][]string // what each file could be: the last that was acknowledged, and all that was tried since
}

// kill starts a process, kills it some time after it began, and takes down what it said.
func (s *siege) kill(after time.Duration, until string) {
	s.t.Helper()
	text, err := json.Marshal(s.doom)
	must(s.t, err)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), victimEnv+"="+string(text))
	out, err := command.StdoutPipe()
	must(s.t, err)
	must(s.t, command.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "begun" {
		s.t.Fatalf("the victim said %q", lines.Text())
	}
	if until == "" {
		time.AfterFunc(after, func() { _ = command.Process.Kill() })
	}
	for lines.Scan() {
		if s.note(lines.Text()); lines.Text() == until {
			_ = command.Process.Kill()
		}
	}
	_ = command.Wait()
}

func (s *siege) note(line string) {
	s.t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	path, etag, _ := strings.Cut(rest, " ")
	switch word {
	case "try":
		s.could[path] = append(s.could[path], etag)
	case "ok":
		s.could[path] = []string{etag}
	case "at":
	default:
		s.t.Fatalf("the victim said %q", line)
	}
}

// inspect looks at every file at once, as somebody who knows nothing of the kill, and then after a sweep.
func (s *siege) inspect() {
	s.t.Helper()
	ctx, end := context.WithCancel(s.t.Context())
	defer end()
	db, log, err := openDB(ctx, s.Address)
	must(s.t, err)
	defer db.Close()
	late := time.Duration(0)
	p, err := project.New(project.Config{DB: db, Audit: log, Root: s.Root, Log: quiet, Patience: 100 * time.Millisecond,
		Now: func() time.Time { return time.Now().Add(late) }})
	must(s.t, err)
	defer p.Close()
	s.look(p)
	late = time.Hour
	if _, err := p.Sweep(ctx, time.Now().Add(late)); err != nil {
		s.t.Errorf("sweep: %v", err)
	}
	s.look(p)
	(&scene{Projects: p, t: s.t, db: db, log: log}).agree()
	storage, err := p.Storage(ctx, shop.Scope)
	if err != nil || storage.ReservedBytes != 0 {
		s.t.Errorf("storage %+v, %v", storage, err)
	}
	if report, err := log.Verify(ctx); err != nil || !report.OK() {
		s.t.Errorf("audit: %+v, %v", report, err)
	}
}

func (s *siege) look(p *project.Projects) {
	s.t.Helper()
	for _, path := range []string{"f0", "f1", "f2", "moving/a", "moving/b/c"} {
		c, err := p.Open(s.t.Context(), shop, "site", path)
		is := "none"
		if err == nil {
			text, err := io.ReadAll(c)
			c.Close()
			if err != nil || !isWhole(text) || sumOf(text) != c.ETag {
				s.t.Errorf("%s is not whole: %d bytes, %v", path, len(text), err)
			}
			is = c.ETag
		} else if !fault.Is(err, project.ItemNotFound) {
			s.t.Errorf("%s: %v", path, err)
		}
		if could := s.could[path]; len(could) > 0 && !slices.Contains(could, is) {
			s.t.Errorf("%s is %s, and could be %v", path, is, could)
		}
	}
}

func newSiege(t *testing.T, address string) *siege {
	return &siege{t: t, doom: doom{Address: address, Root: filepath.Join(t.TempDir(), "root-sandbox")}, could: map[string][]string{"f0": {"none"}, "f1": {"none"}, "f2": {"none"}}}
}

// TestAKillLeavesTheOldOrTheNewFile kills processes at random moments of their uploads, moves and deletions.
func TestAKillLeavesTheOldOrTheNewFile(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := newSiege(t, address)
		for range kills(t) {
			s.kill(time.Duration(rand.Int64N(int64(150*time.Millisecond))), "")
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
			s.kill(0, "at "+stage)
			s.inspect()
			if n := len(s.could["f0"]); n == 0 {
				t.Fatalf("%s: nothing was tried", stage)
			}
		}
	})
}
