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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/service/config"
)

// promise is what a block of commands must bring about.
type promise struct {
	begins string   // the block's first line
	until  string   // for what runs until it is interrupted: what it says when it is there
	says   []string // expressions that its output fits
}

// promised are the pages whose commands are run, in the order in which people follow them.
var promised = []struct {
	page   string
	blocks []promise
}{
	{"README.md", []promise{
		{begins: "make run", until: "svc.localhost:8080/setup#t="},
		{begins: "go build -o bin/embed ./examples/embed", says: []string{`{"result":"refunded ch_7","runId":"run_`, `"text":"word0 word1 word2 "`, `"outcome":"completed"`}},
		{begins: "go build -o bin/agent ./examples/agent", says: []string{`Let me see\.\s+multiply {"A":6,"B":7}\s+= 42\s+That makes 42\.`}},
		{begins: "mkdir -p ../mine && cd ../mine"},
	}},
	{"docs/start.md", []promise{
		{begins: "go build -o bin/svc ./cmd/svc", says: []string{`ok +configuration`}},
		{begins: "bin/svc serve 2> svc.log & server=$!", says: []string{`ok    database\n`, `ok    workers\n`}},
		{begins: "echo 'a long and quiet sentence'", says: []string{`grace \(acc_`, `"username":"ada"`}},
		{begins: "key=$(ask -b jar", says: []string{`"streamUrl"`}},
		{begins: "sleep 2; kill -9 $server"},
		{begins: `ask -H "Authorization: Bearer $key" $chat > history`, says: []string{`(?m)^ *200$`}},
	}},
	{"docs/agents.md", []promise{
		{begins: "bin/svc serve 2>> svc.log & server=$!", says: []string{`"name":"writer"`}},
		{begins: `ask -b jar -H "Origin: $A" -X PATCH`, says: []string{`Sign as Ada`, `"items":\[\{.*\}`}},
		{begins: "mkdir -p agents", says: []string{`"description":"Says hello\."`}},
		{begins: "kill $server; wait $server", says: []string{`"owner":"workspace"`, `"result":"ok"`, `"default":"openai/echo"`}},
		{begins: "key=$(ask -b jar", says: []string{`You said: Is anybody there\?`, `"default":"scripted/words"`}},
	}},
	{"docs/workflows.md", []promise{
		{begins: "go build -o bin/contract ./examples/contract", says: []string{`{"result":{"sum":3},"runId":"run_`}},
		{begins: "run=$(curl", says: []string{`"type":"run_resume"`, `"type":"run_end"`}},
	}},
	{"docs/tools.md", []promise{
		{begins: "bin/svc serve 2>> svc.log & server=$!"},
		{begins: `ask -H "Authorization: Bearer $key" -H 'Accept`, says: []string{`"submissionId":"`, `"text":"word0 word1 word2 "`}},
	}},
	{"docs/channels.md", []promise{
		{begins: "go build -o bin/contract ./examples/contract", says: []string{`"dispatchId":"`, `word0 word1 word2`}},
	}},
	{"docs/api.md", []promise{
		{begins: "bin/svc serve 2>> svc.log & server=$!"},
		{begins: "for again in 1 2", says: []string{`(?s)202 Accepted.*"submissionId":"([^"]+)".*202 Accepted.*"submissionId":"`}},
		{begins: `call -i "$base/agents/central/api?view=updates`, says: []string{`(?i)stream-next-offset: \d{16}_\d{16}`}},
		{begins: "sed '/streamNextOffset/q'"},
		{begins: "sed '/submission-settled/q'", says: []string{`(?m)^ *60$`}},
		{begins: "call $base/agents/central/api", says: []string{`word0 word1 .*word59 `}},
		{begins: `ask -b jar -H "Origin: $A" $A/api/workspaces/ada/personal/projects`, says: []string{`"type":"run_end"`, `"workflowName":"digest"`, `"status":"completed"`}},
	}},
	{"docs/clients.md", []promise{
		{begins: "bin/svc serve 2>> svc.log & server=$!", says: []string{`Signed in as profile default: ada/personal`}},
		{begins: "bin/svc agents list", says: []string{`central +exposed`, `word0 word1 word2 \n(.*\n)*word0 word1 word2 \n`, `put today\.txt`, `"files": 1`, `"workflowName": "digest"`, `Signed out of ada/personal`}},
	}},
	{"docs/machine.md", []promise{
		{begins: "mkdir -p trial", says: []string{`ok +configuration`, `key "wrokers" is not known: is workers meant\?`, `refused with 2`}},
		{begins: "bin/svc admin grant --username ada", says: []string{`ada \(acc_.*\) has the role admin`, `\d chains?, \d+ events`, `added key k`}},
	}},
	{"docs/many.md", []promise{
		{begins: "go build -o bin/svc ./cmd/svc", says: []string{`DOMAIN=svc\.example\.com\nASSERTION_PUBLIC=`}},
	}},
	{"docs/backup.md", []promise{
		{begins: "bin/svc backup -o monday.backup", says: []string{`restored: bkp_\w+ as of`, `\d chains?, \d+ events`}},
		{begins: "bin/svc serve 2>> svc.log & server=$!", says: []string{`ada\.export: ada/personal as of`, `ada/copy: \d+ agents?, \d+ projects?`}},
	}},
}

// TestPagesRunAsTheyStand runs every command of the README and of docs/ as it would be pasted: a page after another in one folder, beside
// which others may be made, and the blocks of a page into one terminal.
func TestPagesRunAsTheyStand(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "make", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	c := newClone(t)
	for _, p := range promised {
		blocks := blocksOf(t, p.page)["sh"]
		if len(blocks) != len(p.blocks) {
			t.Fatalf("%s has %d blocks of commands, and this test knows %d", p.page, len(blocks), len(p.blocks))
		}
		for i, said := range c.follow(t, blocks, p.blocks) {
			for _, say := range p.blocks[i].says {
				if !regexp.MustCompile(say).MatchString(said) {
					t.Errorf("%s: %s\nsays nothing of %q: %s", p.page, blocks[i], say, said)
				}
			}
		}
	}
	compare(t, text(t, c.folder, "heard"), text(t, c.folder, "history"))
}

// mark stands between what two blocks say that are pasted into one terminal.
const mark = "\n=== the next block ===\n"

// follow pastes the blocks of a page into one terminal, but for those that are interrupted, and returns what each said.
func (c clone) follow(t *testing.T, blocks []string, promises []promise) (said []string) {
	t.Helper()
	var script []string
	for i, block := range blocks {
		if !strings.HasPrefix(block, promises[i].begins) {
			t.Fatalf("block %d does not begin with %q:\n%s", i, promises[i].begins, block)
		}
		if promises[i].until != "" {
			said = append(said, c.paste(t, block, promises[i].until))
		} else {
			script = append(script, block)
		}
	}
	if len(script) == 0 {
		return said
	}
	between := "printf '\\n%s\\n' '" + strings.TrimSpace(mark) + "'\n"
	return append(said, strings.Split(c.paste(t, strings.Join(script, between), ""), mark)...)
}

// TestBlocksOfAllPagesAreRun keeps blocks of code on pages whose blocks a test runs, or that are pieces of what one compiles.
func TestBlocksOfAllPagesAreRun(t *testing.T) {
	run := map[string]bool{}
	for _, p := range promised {
		run[p.page] = true
	}
	shown := readExamples(t)
	for _, page := range pagesIn(t) {
		for language, blocks := range blocksOf(t, page) {
			switch {
			case language == "sh" && run[page]:
			case language == "toml" && strings.HasPrefix(page, "docs/"): // TestSettingsOfPagesAreTaken
			case language == "go" && page == "README.md": // at the root
			case page == "docs/typescript.md" && language == "ts": // run by the tests of ts
			case strings.HasPrefix(page, "docs/") && (language == "go" || language == "ts"):
				for _, block := range blocks {
					if !strings.Contains(shown, plain(block)) {
						t.Errorf("%s shows what is in no example:\n%s", page, block)
					}
				}
			case page == "ARCHITECTURE.md" && language == "": // drawn
			case strings.HasPrefix(page, "sdk/") && (language == "ts" || language == "tsx"): // compiled and run by the package's own tests
			default:
				t.Errorf("%s has %d blocks of %q that nobody runs", page, len(blocks), language)
			}
		}
	}
}

// TestSettingsOfPagesAreTaken reads what pages show of svc.toml as the service would.
func TestSettingsOfPagesAreTaken(t *testing.T) {
	read := 0
	for _, page := range pagesIn(t) {
		for _, block := range blocksOf(t, page)["toml"] {
			read++
			cmd := &cobra.Command{}
			addSettings(cmd)
			file := writeFile(t, filepath.Join(t.TempDir(), "svc.toml"), block)
			c, err := readConfig(cmd, func(name string) string { return map[string]string{configEnv: file}[name] })
			if err == nil {
				err = config.Whole.Check(c)
			}
			if err != nil {
				t.Errorf("%s: %v:\n%s", page, err, block)
			}
		}
	}
	if read == 0 {
		t.Error("no page shows settings")
	}
}

// pagesIn are the pages of the repository.
func pagesIn(t *testing.T) (pages []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin"}, e.Name()) {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			page, err := filepath.Rel(root, path)
			pages = append(pages, filepath.ToSlash(page))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// readExamples is all that compiles of what is written to be shown.
func readExamples(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"*example*_test.go", "*/*example*_test.go", "channel/*/example_test.go", "examples/*/main.go", "examples/project/src/*/*.ts"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			all.WriteString(plain(text(t, filepath.Dir(file), filepath.Base(file))))
		}
	}
	return all.String()
}

// plain is a text without what its lines begin with: a piece of a function stands further left on a page.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.String()
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
	for _, name := range []string{"Makefile", "scripts", "examples", "go.mod", "go.sum", "web", "sdk", "api", "deploy"} {
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
			t.Skipf("no network of our own can be made here, and the ports of its pages are taken: %v", err)
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
