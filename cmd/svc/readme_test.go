package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadmeLeadsANewcomerToAConversation runs the commands of the README, on ports of its own.
func TestReadmeLeadsANewcomerToAConversation(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	folder := t.TempDir()
	settings := strings.NewReplacer("go build -o bin/svc ./cmd/svc\n", "", "bin/svc serve", "svc serve --listen=127.0.0.1:8080 --ops-listen=127.0.0.1:8090", "bin/svc", "svc")
	ports := strings.NewReplacer("8080", freePort(t), "8090", freePort(t))
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", ports.Replace(settings.Replace(commands(t))))
	cmd.Dir = folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	timer := time.AfterFunc(2*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text(t, folder, "svc.log"))
	}
	if !strings.Contains(string(out), "grace (acc_") || !strings.Contains(string(out), `"username":"ada"`) || !strings.Contains(string(out), `"streamUrl"`) || !strings.HasSuffix(string(out), "\n200\n") {
		t.Errorf("said: %s", out)
	}
	compare(t, text(t, folder, "heard"), text(t, folder, "history"))
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

// commands are those of the README's section for newcomers.
func commands(t *testing.T) string {
	t.Helper()
	_, section, found := strings.Cut(text(t, filepath.Join("..", ".."), "README.md"), "\n### From nothing to a conversation")
	_, after, begun := strings.Cut(section, "```sh\n")
	block, _, ended := strings.Cut(after, "```")
	if !found || !begun || !ended {
		t.Fatal("the README has no commands for newcomers")
	}
	return block
}

func text(t *testing.T, folder, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
