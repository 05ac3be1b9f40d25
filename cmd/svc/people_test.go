package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command/commandtest"
	"svc.dev/svc/internal/contract/program"
)

// newContract runs the contract program, and returns its address.
func newContract(t *testing.T) string {
	t.Helper()
	p, err := program.Start(t.Context(), program.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "svc.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return p.URL
}

// withoutSettings is the environment without what people have set for svc.
func withoutSettings() (env []string) {
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") && !strings.HasPrefix(variable, "NO_COLOR") {
			env = append(env, variable)
		}
	}
	return env
}

// every calls look for a command and all below it.
func every(cmd *cobra.Command, look func(*cobra.Command)) {
	look(cmd)
	for _, below := range cmd.Commands() {
		every(below, look)
	}
}

func TestHelpFitsATerminalAndShowsAnExample(t *testing.T) {
	every(newRoot(), func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%s --help is wider than 80 columns: %s", cmd.CommandPath(), line)
			}
		}
		if cmd.Example == "" || !strings.Contains(out.String(), "Examples:") || !strings.Contains(cmd.Example, "svc ") {
			t.Errorf("%s --help has no example", cmd.CommandPath())
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s says of itself %q", cmd.CommandPath(), cmd.Short)
		}
	})
}

// typed are the commands of svc in an example, with the words behind them.
var typed = regexp.MustCompile(`\bsvc ([^|>)]*)`)

// TestExamplesAreCommands looks up what the examples of help tell people to type: the command itself, and every flag.
func TestExamplesAreCommands(t *testing.T) {
	every(newRoot(), func(cmd *cobra.Command) {
		shown := false
		for _, words := range typed.FindAllStringSubmatch(strings.ReplaceAll(cmd.Example, "\\\n", " "), -1) {
			args := strings.Fields(words[1])
			found, rest, err := newRoot().Find(args)
			if err != nil || !found.HasParent() && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				t.Errorf("%s --help shows %q, which is no command: %v", cmd.CommandPath(), words[0], err)
				continue
			}
			shown = shown || strings.HasPrefix(found.CommandPath(), cmd.CommandPath())
			for _, word := range rest {
				if name, isFlag := strings.CutPrefix(word, "--"); isFlag && found.Flags().Lookup(name) == nil {
					t.Errorf("%s --help shows %q, which has no flag %s", cmd.CommandPath(), words[0], word)
				}
			}
		}
		if !shown && cmd.Name() != "help" {
			t.Errorf("%s --help does not show how it is typed: %q", cmd.CommandPath(), cmd.Example)
		}
	})
}

// silent are the commands that have nothing to say to machines but what they print anyway: a script, a description, a log.
var silent = []string{"svc completion", "svc openapi", "svc serve", "svc gateway", "svc runtime", "svc dev"}

func TestEveryCommandAnswersMachines(t *testing.T) {
	answering := commandtest.Answering(newRoot())
	every(newRoot(), func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && answering[commandtest.Name(cmd)] == nil && !slices.Contains(silent, cmd.CommandPath()) {
			t.Errorf("%s has no --json", cmd.CommandPath())
		}
	})
	names := commandtest.Schemas(t, schemas)
	for name := range answering {
		if !slices.Contains(names, name) {
			t.Errorf("api/cli has no schema %s.json", name)
		}
	}
	for _, name := range names {
		if answering[name] == nil {
			t.Errorf("api/cli/%s.json is of no command", name)
		}
	}
}

var schemas = filepath.Join("..", "..", "api", "cli")

// TestAnswersOfOperatorsFitTheirSchemas asks every verb of operators for JSON. internal/cli asks those of people.
func TestAnswersOfOperatorsFitTheirSchemas(t *testing.T) {
	data, project := filepath.Join(t.TempDir(), "data"), t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "app.ts"), []byte("export default { fetch: () => new Response() };"), 0o600); err != nil {
		t.Fatal(err)
	}
	adding := `import { defineWorkflow } from "@svc/runtime"; export default defineWorkflow({ run: ({ step }) => step("add", () => 1) });`
	if err := os.MkdirAll(filepath.Join(project, "workflows"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(project, "workflows", "add.ts"), adding)
	for _, test := range []struct {
		name, in string
		args     []string
	}{
		{"version", "", []string{"version"}},
		{"migrate", "", []string{"migrate", "--plan", "--data", data}},
		{"migrate", "", []string{"migrate", "--data", data}},
		{"preflight", "", []string{"preflight", "--data", data}},
		{"keys-assertion", "", []string{"keys", "assertion"}},
		{"init", "", []string{"init", filepath.Join(project, "new")}},
		{"check", "", []string{"check", project, "--replay", "add"}},
		{"bundle", "", []string{"bundle", project, "-o", filepath.Join(project, "bundle")}},
		{"admin-create", "a long and quiet sentence", []string{"admin", "create", "--data", data, "--email", "root@example.com", "--username", "grace", "--password-stdin"}},
		{"admin-grant", "", []string{"admin", "grant", "--data", data, "--username", "grace", "--role", "support"}},
		{"audit-verify", "", []string{"audit", "verify", "--data", data}},
		{"secrets-rotate", "", []string{"secrets", "rotate", "--data", data}},
		{"backup", "", []string{"backup", "--data", data, "-o", data + ".backup"}},
		{"restore", "", []string{"restore", data + ".backup", data + ".restored"}},
		{"doctor", "", []string{"doctor", "--data", data, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}},
	} {
		cmd := exec.Command("svc", append(test.args, "--json")...)
		cmd.Stdin = strings.NewReader(test.in)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%v: %v: %s", test.args, err, out)
			continue
		}
		commandtest.Fits(t, schemas, test.name, string(out))
	}
}

// TestReaderThatHasGoneEndsTheCommand closes the pipe after the first line, as head -1 does.
func TestReaderThatHasGoneEndsTheCommand(t *testing.T) {
	base := newContract(t)
	out, err := exec.Command("svc", "workflows", "run", "chatty", "--input", `{"n":100000,"delay":5}`, "--no-wait", "--base-url", base).Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	endsQuietly(t, "runs", "tail", id, "--base-url", base)
	endsQuietly(t, "runs", "tail", id, "--json", "--base-url", base)
	endsQuietly(t, "agents", "send", "assistant", "talk", "n=100000 delay=5", "--base-url", base)
}

// endsQuietly reads a little of what svc says and goes away.
func endsQuietly(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("svc", args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadByte(); err != nil {
		t.Errorf("%v says nothing: %v", args, err)
	}
	out.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill() // it is what is wrong
		t.Fatalf("%v goes on for nobody", args)
	}
	if state := cmd.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGPIPE || errs.Len() > 0 {
		t.Errorf("%v ends with %v: %s", args, cmd.ProcessState, &errs)
	}
}

// TestAnswerSurvivesTheServer kills the server in the middle of an answer: whoever waits sees all of it, each word once.
func TestAnswerSurvivesTheServer(t *testing.T) {
	data, port := filepath.Join(t.TempDir(), "data"), freePort(t)
	begin := func() *process {
		return launch(t, []string{"SVC_LISTEN=127.0.0.1:" + port, "SVC_OPS_LISTEN=127.0.0.1:0"}, "serve", "--data", data)
	}
	p := begin()
	ada := signUp(t, p.Serving, "ada")
	cmd := exec.Command("svc", "agents", "send", "central", "talk", "n=60 delay=20", "--base-url", ada.base)
	cmd.Env = append(withoutSettings(), "SVC_API_KEY="+ada.key)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len("word0 word1 "))
	if _, err := io.ReadFull(out, first); err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	p.kill()
	begin()
	rest, err := io.ReadAll(out)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	if words := strings.Fields(string(first) + string(rest)); !slices.Equal(words, strings.Fields(count(60))) {
		t.Errorf("%d words: %s%s", len(words), first, rest)
	}
}

// TestInterruptedCommandExitsWithOne presses Ctrl-C where no terminal is.
func TestInterruptedCommandExitsWithOne(t *testing.T) {
	base := newContract(t)
	cmd := exec.Command("svc", "agents", "send", "assistant", "talk", "n=100000 delay=5", "--base-url", base)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // it ends with the process
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(errs.String(), "svc: interrupted") || !strings.Contains(errs.String(), "The agent goes on") {
		t.Errorf("exits with %d: %s", code, &errs)
	}
}
