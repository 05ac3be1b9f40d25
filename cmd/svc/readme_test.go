package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// promised is what the blocks of the README must bring about, in their order.
var promised = []struct {
	begins string   // the block's first line
	until  string   // for what runs until it is interrupted: what it says when it is there
	says   []string // expressions that its output fits
}{
	{begins: "make run", until: "svc.localhost:8080/setup#t="},
	{begins: "go build -o bin/contract ./examples/contract", says: []string{`{"result":{"sum":3},"runId":"run_`, `"type":"run_resume"`, `"type":"run_end"`}},
	{begins: "go build -o bin/embed ./examples/embed", says: []string{`{"result":"refunded ch_7","runId":"run_`, `"text":"word0 word1 word2 "`, `"outcome":"completed"`}},
	{begins: "go build -o bin/agent ./examples/agent", says: []string{`Let me see\.\s+multiply {"A":6,"B":7}\s+= 42\s+That makes 42\.`}},
	{begins: "mkdir -p ../mine && cd ../mine"},
	{begins: "go build -o bin/svc ./cmd/svc", says: []string{`listen +SVC_LISTEN`, `ok +configuration`}},
	{begins: "bin/svc serve 2> svc.log & server=$!", says: []string{`grace \(acc_`, `"username":"ada"`, `"streamUrl"`, `(?m)^ *200$`}},
	{begins: "bin/svc serve 2>> svc.log & server=$!", says: []string{`Signed in as profile default: ada/personal`, `central +exposed`, `word0 word1 word2 \n(.*\n)*word0 word1 word2 \n`, `put today\.txt`, `"files": 1`, `"workflowName": "digest"`, `Signed out of ada/personal`}},
	{begins: "go build -o bin/modelserver ./examples/modelserver", says: []string{`"owner":"workspace"`, `"result":"ok"`, `"default":"openai/echo"`, `You said: Is anybody there\?`}},
	{begins: "bin/svc serve 2>> svc.log & server=$!", says: []string{`"submissionId":"`, `"text":"word0 word1 word2 "`}},
	{begins: "bin/svc admin grant --username ada ", says: []string{`ada \(acc_.*\) has the role admin`, `\d chains?, \d+ events`, `added key k`}},
}

// TestReadmeRunsAsItStands runs every command of the README as it would be pasted, one block after another, in a folder
// beside which others may be made.
func TestReadmeRunsAsItStands(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "make", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	c := newClone(t)
	blocks := blocksOf(t, "README.md")["sh"]
	if len(blocks) != len(promised) {
		t.Fatalf("the README has %d blocks of commands, and this test knows %d", len(blocks), len(promised))
	}
	for i, block := range blocks {
		want := promised[i]
		if !strings.HasPrefix(block, want.begins) {
			t.Fatalf("block %d does not begin with %q:\n%s", i, want.begins, block)
		}
		out := c.paste(t, block, want.until)
		for _, say := range want.says {
			if !regexp.MustCompile(say).MatchString(out) {
				t.Errorf("%s\nsays nothing of %q: %s", block, say, out)
			}
		}
	}
	compare(t, text(t, c.folder, "heard"), text(t, c.folder, "history"))
}

// TestBlocksOfAllPagesAreRun keeps blocks of code on pages whose blocks a test runs.
func TestBlocksOfAllPagesAreRun(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		page, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for language, blocks := range blocksOf(t, page) {
			run := page == "README.md" && (language == "sh" || language == "go")
			drawn := page == "ARCHITECTURE.md" && language == ""
			compiled := strings.HasPrefix(page, "sdk/") && (language == "ts" || language == "tsx") // and run by the package's own tests
			if !run && !drawn && !compiled {
				t.Errorf("%s has %d blocks of %q that nobody runs", page, len(blocks), language)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// blocksOf are the blocks of a page, by their language.
func blocksOf(t *testing.T, page string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(text(t, filepath.Join("..", ".."), page), -1) {
		all[m[1]] = append(all[m[1]], m[2])
	}
	return all
}

// clone is a folder that looks like the repository's to one who pastes commands.
type clone struct {
	folder  string
	private bool // each block has a network of its own
	env     []string
}

// newClone makes the folder. What is built in it is built from the repository itself: a copy would be compiled anew.
func newClone(t *testing.T) clone {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	c := clone{folder: filepath.Join(t.TempDir(), "svc"), private: canBeAlone()}
	if !c.private {
		freeOrSkip(t, "8080", "8090", "3583", "11434")
	}
	tools := t.TempDir()
	goTool, _ := exec.LookPath("go")
	wrapper := fmt.Sprintf("#!/usr/bin/env bash\nroot=%q; go=%q\n%s", root, goTool, `if [ "$1 $2" = "build -o" ] && [ "$4" != . ]; then exec "$go" build -C "$root" -o "$PWD/$3" "${@:4}"; fi
if [ "$1" = list ]; then exec "$go" list -C "$root" "${@:2}"; fi
exec "$go" "${@/#..\/svc/$root}"
`)
	for _, err := range []error{os.Mkdir(c.folder, 0o700), os.WriteFile(filepath.Join(tools, "go"), []byte(wrapper), 0o700)} { //nolint:gosec // a program
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"Makefile", "scripts", "examples", "go.mod", "go.sum", "web", "sdk", "api"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(c.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") && !strings.HasPrefix(variable, "MAKE") {
			c.env = append(c.env, variable)
		}
	}
	c.env = append(c.env, "PATH="+tools+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	return c
}

// freeOrSkip skips a test whose ports somebody else has.
func freeOrSkip(t *testing.T, ports ...string) {
	t.Helper()
	for _, port := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Skipf("no network of our own can be made here, and the README's ports are taken: %v", err)
		}
		l.Close()
	}
}

// paste runs a block to its end, or until it has said something and is interrupted, and returns all that it said. It must end
// in the folder where it began: the next block is pasted into the same terminal.
func (c clone) paste(t *testing.T, block, until string) string {
	t.Helper()
	args := []string{"bash", "-euo", "pipefail", "-c", "began=$PWD\n" + block + `[ "$PWD" = "$began" ] || { echo "the next block is pasted in $PWD" >&2; exit 1; }`}
	cmd := exec.Command(args[0], args[1:]...)
	if c.private {
		cmd = alone(args)
	} else {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	out := &heard{until: until, said: make(chan struct{})}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.folder, c.env, out, out
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	group := -cmd.Process.Pid
	defer syscall.Kill(group, syscall.SIGKILL) //nolint:errcheck // what it left behind, if anything
	timer := time.AfterFunc(5*time.Minute, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	defer timer.Stop()
	if until == "" {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s\nends with %v: %s", block, err, out)
		}
		return out.String()
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-out.said:
	case err := <-ended:
		t.Fatalf("%s\nends with %v, and says nothing of %q: %s", block, err, until, out)
	}
	_ = syscall.Kill(group, syscall.SIGINT)
	<-ended // make tells that it was interrupted
	return out.String()
}

// heard is what a block says, and tells when it has said something.
type heard struct {
	until string
	said  chan struct{}

	mu  sync.Mutex
	all bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.until != "" && strings.Contains(h.all.String(), h.until)
	h.all.Write(p)
	if h.until != "" && !before && strings.Contains(h.all.String(), h.until) {
		close(h.said)
	}
	return len(p), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all.String()
}

// compare fails unless the readers of a reply that broke off and went on heard, in sum, what history tells.
func compare(t *testing.T, heard, history string) {
	t.Helper()
	var told struct {
		Messages []struct {
			ID, Role string
			Parts    []struct{ Text string }
		}
		Settlements []struct{ Outcome string }
	}
	if err := json.Unmarshal([]byte(history), &told); err != nil {
		t.Fatalf("history: %v: %s", err, history)
	}
	replies, words := said(t, heard), ""
	for _, m := range told.Messages {
		if m.Role != "assistant" {
			continue
		}
		if replies[m.ID] != m.Parts[0].Text {
			t.Errorf("history has %q, heard was %q", m.Parts[0].Text, replies[m.ID])
		}
		words += m.Parts[0].Text
	}
	if len(replies) < 2 || words != count(200) || len(told.Settlements) != 1 || told.Settlements[0].Outcome != "completed" || !strings.Contains(heard, "submission-settled") {
		t.Errorf("%d replies, together %q: %s", len(replies), words, history)
	}
	if told.Messages[0].Parts[0].Text != "n=200 delay=25" {
		t.Errorf("the prompt: %s", history)
	}
}

// count is what the scripted model says when it is asked for so many words.
func count(words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

// said is the text of every reply in a stream, whose updates may stand there twice.
func said(t *testing.T, heard string) map[string]string {
	t.Helper()
	type update struct {
		Type, MessageID, Delta string
		Position               struct{ Batch, Index int }
	}
	replies, seen := map[string]string{}, map[any]bool{}
	for line := range strings.Lines(heard) {
		var all []update
		if data, found := strings.CutPrefix(line, "data:["); !found || json.Unmarshal([]byte("["+data), &all) != nil {
			continue // another frame, or one that broke off
		}
		for _, u := range all {
			if u.Type == "message-delta" && !seen[u.Position] {
				replies[u.MessageID] += u.Delta
			}
			seen[u.Position] = true
		}
	}
	return replies
}

func text(t *testing.T, folder, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
