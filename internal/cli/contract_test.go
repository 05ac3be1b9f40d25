package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/command/commandtest"
)

func TestSendShowsTheAnswerAsItComes(t *testing.T) {
	atContract(t)
	d := run(t, "", "agents", "send", "assistant", "first", "n=3").wants(t, 0)
	if d.out != "word0 word1 word2 \n" || d.err != "" {
		t.Errorf("%q, beside it %q", d.out, d.err)
	}
	if d := run(t, "n=2\n", "agents", "send", "assistant", "first").wants(t, 0); d.out != "word0 word1 \n" {
		t.Errorf("from standard input: %q", d.out)
	}
	if d := run(t, "n=1", "agents", "send", "assistant", "first", "-").wants(t, 0); d.out != "word0 \n" {
		t.Errorf("from standard input, by name: %q", d.out)
	}
	run(t, "", "agents", "send", "assistant", "first", "fail").wants(t, 1, "the agent failed: ")
	run(t, "", "agents", "send", "nobody", "first", "n=3").wants(t, 1, "nobody")
	run(t, "", "agents", "send", "assistant").wants(t, 2, "CONVERSATION is missing")
}

func TestToolsAreLinesBesideTheAnswer(t *testing.T) {
	atContract(t)
	d := run(t, "", "agents", "send", "tooluser", "first", "2 + 3?").wants(t, 0)
	if d.out != "5\n" || !strings.Contains(d.err, `• add {"a":2,"b":3}`) || !strings.Contains(d.err, "\n  = 5") {
		t.Errorf("%q, beside it %q", d.out, d.err)
	}
}

func TestWhatIsThoughtIsNoAnswerInAPipe(t *testing.T) {
	atContract(t)
	if d := run(t, "", "agents", "send", "assistant", "first", "think n=2").wants(t, 0); d.out != "word0 word1 \n" {
		t.Errorf("%q", d.out)
	}
}

func TestImagesAreSentAlong(t *testing.T) {
	atContract(t)
	picture := filepath.Join(t.TempDir(), "dot.png")
	if err := os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\nrest"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", "agents", "send", "assistant", "seen", "n=1", "--image", picture).wants(t, 0)
	run(t, "", "agents", "history", "assistant", "seen").wants(t, 0, "[image/png, 12 B, dot.png ")
	run(t, "", "agents", "send", "assistant", "seen", "n=1", "--image", "scene_test.go").wants(t, 2, "not an image")
}

func TestHistoryAndTailShowAConversation(t *testing.T) {
	atContract(t)
	run(t, "", "agents", "send", "tooluser", "talk", "add").wants(t, 0)
	run(t, "", "agents", "send", "tooluser", "talk", "again").wants(t, 0)
	all := run(t, "", "agents", "history", "tooluser", "talk").wants(t, 0, "you  ", "tooluser  ", "again", "• add", "  = 5").out
	if strings.Count(all, "you  ") != 2 {
		t.Errorf("%s", all)
	}
	if last := run(t, "", "agents", "history", "tooluser", "talk", "--last", "1").wants(t, 0).out; strings.Contains(last, "you  ") || !strings.Contains(last, "\n5\n") {
		t.Errorf("the last: %s", last)
	}
	run(t, "", "agents", "tail", "tooluser", "talk", "--no-follow", "-n", "2").wants(t, 0, "• add", "5\n")
	run(t, "", "agents", "history", "tooluser", "never").wants(t, 1)
	run(t, "", "agents", "tail", "tooluser", "talk", "--after", "-1").wants(t, 2, "needs --json")
}

// TestTailGoesOnWhereItStopped reads a conversation to its end in two parts: together they are the whole.
func TestTailGoesOnWhereItStopped(t *testing.T) {
	atContract(t)
	run(t, "", "agents", "send", "assistant", "talk", "n=5").wants(t, 0)
	run(t, "", "agents", "send", "assistant", "talk", "n=5").wants(t, 0)
	tail := func(after string) (lines []string) {
		out := run(t, "", "agents", "tail", "assistant", "talk", "--json", "--no-follow", "--after", after).wants(t, 0).out
		commandtest.Fits(t, schemas, "agents-tail", out)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	whole := tail("-1")
	for i := range whole {
		var line struct{ Checkpoint string }
		if err := json.Unmarshal([]byte(whole[i]), &line); err != nil {
			t.Fatal(err)
		}
		if i == len(whole)-1 {
			break
		}
		rest := tail(line.Checkpoint)
		// Within a batch the checkpoint stands before it: its beginning comes again.
		if n := len(rest); n < len(whole)-1-i || n > len(whole) || rest[n-1] != whole[len(whole)-1] {
			t.Fatalf("after line %d of %d come %d", i, len(whole), n)
		}
	}
}

func TestTailFollowsUntilItIsInterrupted(t *testing.T) {
	atContract(t)
	run(t, "", "agents", "send", "assistant", "talk", "n=1").wants(t, 0)
	for _, args := range [][]string{{}, {"--json"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		var out, errs buffer
		ended := make(chan done, 1)
		go func() {
			ended <- runWith(ctx, strings.NewReader(""), &out, &errs, append([]string{"agents", "tail", "assistant", "talk", "-n", "0"}, args...)...)
		}()
		// What is said before it follows is not news.
		if !eventually(func() bool {
			run(t, "", "agents", "send", "assistant", "talk", "n=4").wants(t, 0)
			return strings.Contains(out.String(), "word3")
		}) {
			t.Fatalf("nothing came: %s%s", &out, &errs)
		}
		interrupt()
		(<-ended).wants(t, 0)
	}
}

func TestInterruptedSendTellsThatTheAgentGoesOn(t *testing.T) {
	atContract(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, errs buffer
	ended := make(chan done, 1)
	go func() {
		ended <- runWith(ctx, strings.NewReader(""), &out, &errs, "agents", "send", "assistant", "my talk", "n=100000 delay=20")
	}()
	if !eventually(func() bool { return strings.Contains(out.String(), "word2") }) {
		t.Fatalf("nothing is said: %s%s", &out, &errs)
	}
	interrupt()
	(<-ended).wants(t, 1, "The agent goes on", "svc agents abort assistant 'my talk'", "interrupted")
	run(t, "", "agents", "abort", "assistant", "my talk").wants(t, 0, "It is being stopped.")
	if !eventually(func() bool {
		return run(t, "", "agents", "abort", "assistant", "my talk").out == "There was nothing to stop.\n"
	}) {
		t.Error("it does not stop")
	}
}

func TestWorkflowsRunToTheirResult(t *testing.T) {
	atContract(t)
	d := run(t, "", "workflows", "run", "steps", "--input", `{"n":3}`).wants(t, 0)
	if strings.TrimSpace(d.out) != "{\n  \"sum\": 3\n}" || !strings.Contains(d.err, "step 2: finished") || !strings.Contains(d.err, "completed (") {
		t.Errorf("%q, beside it %q", d.out, d.err)
	}
	run(t, `{"n":2}`, "workflows", "run", "chatty", "--input", "-").wants(t, 0, "line 0", "line 1")
	input := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(input, []byte(`{"text":"n=2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", "workflows", "run", "summarize", "--input", "@"+input).wants(t, 0, `"summary": "word0 word1 "`)
	run(t, "", "workflows", "run", "failing").wants(t, 1, "failed on purpose")
	run(t, "", "workflows", "run", "trivial", "--input", "{").wants(t, 2, "not JSON")
	run(t, "", "workflows", "run", "trivial", "--input", "{}").wants(t, 1)
	run(t, "", "workflows", "run", "nothing").wants(t, 1, "nothing")
	// One whose runs nobody may see answers all the same.
	run(t, "", "workflows", "run", "hidden").wants(t, 0, `"ok": true`)
	id := strings.TrimSpace(run(t, "", "workflows", "run", "trivial", "--no-wait", "--idempotency-key", "one").wants(t, 0).out)
	if again := strings.TrimSpace(run(t, "", "workflows", "run", "trivial", "--no-wait", "--idempotency-key", "one").wants(t, 0).out); again != id || !strings.HasPrefix(id, "run_") {
		t.Errorf("%s, and again %s", id, again)
	}
}

func TestRunsAreFollowedAndLookedUp(t *testing.T) {
	atContract(t)
	id := strings.TrimSpace(run(t, "", "workflows", "run", "chatty", "--no-wait", "--input", `{"n":5,"delay":20}`).wants(t, 0).out)
	out := run(t, "", "runs", "tail", id).wants(t, 0, "started chatty", "line 0", "line 4", "completed (").out
	if strings.Count(out, "\n") != 7 {
		t.Errorf("%s", out)
	}
	if last := run(t, "", "runs", "tail", id, "-n", "2", "--no-follow").wants(t, 0).out; strings.Count(last, "\n") != 2 {
		t.Errorf("the last two: %s", last)
	}
	run(t, "", "runs", "get", id).wants(t, 0, "workflow  chatty", "status    completed", `input     {"n":5,"delay":20}`)
	failed := strings.TrimSpace(run(t, "", "workflows", "run", "failing", "--no-wait").wants(t, 0).out)
	run(t, "", "runs", "tail", failed).wants(t, 1, "failed on purpose")
	run(t, "", "runs", "get", failed).wants(t, 0, "error     Error: failed on purpose")
	run(t, "", "runs", "get", "run_00000000000000000000000000").wants(t, 1)
	run(t, "", "runs", "tail", id, "--last", "-1").wants(t, 2)
}

func TestRunGoesOnWithoutWhoeverStartedIt(t *testing.T) {
	atContract(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, errs buffer
	ended := make(chan done, 1)
	go func() {
		ended <- runWith(ctx, strings.NewReader(""), &out, &errs, "workflows", "run", "chatty", "--input", `{"n":20,"delay":50}`)
	}()
	if !eventually(func() bool { return strings.Contains(errs.String(), "line 1") }) {
		t.Fatalf("nothing happens: %s", &errs)
	}
	interrupt()
	d := (<-ended).wants(t, 1, "The run goes on: svc runs tail run_", "interrupted")
	id := d.err[strings.Index(d.err, "svc runs tail ")+len("svc runs tail "):][:30]
	run(t, "", "runs", "tail", id).wants(t, 0, "line 19", "completed (")
}

func TestChatInAPipeAnswersLineByLine(t *testing.T) {
	atContract(t)
	d := run(t, "n=2\n\nn=3\r\nn=1", "chat", "assistant", "talk").wants(t, 0)
	if d.out != "word0 word1 \nword0 word1 word2 \nword0 \n" || d.err != "" {
		t.Errorf("%q, beside it %q", d.out, d.err)
	}
	run(t, "add\n", "chat", "tooluser").wants(t, 0, "5\n", "• add")
	run(t, "n=1\nfail\nn=1\n", "chat", "assistant", "talk").wants(t, 1, "the agent failed")
	run(t, "n=1\n", "chat").wants(t, 1, "central") // which the contract program does not have
	out := run(t, "n=2\n", "chat", "assistant", "talk", "--json").wants(t, 0).out
	commandtest.Fits(t, schemas, "chat", out)
	if !strings.Contains(out, `"type":"submission-settled"`) {
		t.Errorf("%s", out)
	}
}

func TestInterruptedChatInAPipeStopsTheAgent(t *testing.T) {
	atContract(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	in, hands := io.Pipe()
	defer hands.Close()
	var out, errs buffer
	ended := make(chan done, 1)
	go func() { ended <- runWith(ctx, in, &out, &errs, "chat", "assistant", "talk") }()
	if _, err := io.WriteString(hands, "n=100000 delay=20\n"); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return strings.Contains(out.String(), "word2") }) {
		t.Fatalf("nothing is said: %s%s", &out, &errs)
	}
	interrupt()
	(<-ended).wants(t, 1, "interrupted")
	if !eventually(func() bool {
		return run(t, "", "agents", "abort", "assistant", "talk").out == "There was nothing to stop.\n"
	}) {
		t.Error("the agent goes on")
	}
}

func TestServiceThatIsNotThereIsToldSoon(t *testing.T) {
	alone(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Setenv(cli.BaseVariable, gone.URL)
	run(t, "", "agents", "history", "assistant", "x").wants(t, 1, gone.URL+" cannot be reached", "connection refused")
}

func TestRuntimeAloneHasNoWorkspace(t *testing.T) {
	atContract(t)
	for _, args := range [][]string{{"agents", "list"}, {"workflows", "list"}, {"projects", "ls"}, {"runs", "cancel", "run_1"}, {"projects", "sync", ".", "docs"}} {
		run(t, "", args...).wants(t, 1, "is not the address of a workspace")
	}
	run(t, "", "runs", "list").wants(t, 1)
}

func TestSomebodyWithoutAProfileIsToldWhatToDo(t *testing.T) {
	alone(t)
	for _, args := range [][]string{{"agents", "list"}, {"chat"}, {"whoami"}, {"projects", "ls", "x"}} {
		run(t, "", args...).wants(t, 1, "sign in with svc login")
	}
	run(t, "", "agents", "list", "--base-url", "nothing").wants(t, 2, `"nothing" is not an address: is https://nothing meant?`)
	run(t, "", "login", "svc.localhost:8080").wants(t, 2, "is http://svc.localhost:8080 meant?")
	run(t, "", "login", "ftp://x").wants(t, 2, "is not an address such as")
	run(t, "", "agents", "list", "--base-url", "https://x", "--profile", "y").wants(t, 2)
}

// TestPipeGetsWhatWasSaid is about what others wrote: nobody looks, so it is passed on as it is.
func TestPipeGetsWhatWasSaid(t *testing.T) {
	atContract(t)
	run(t, "", "agents", "send", "assistant", "talk", "n=1 \x1b[31mred").wants(t, 0)
	if d := run(t, "", "agents", "history", "assistant", "talk").wants(t, 0); !strings.Contains(d.out, "\x1b[31mred") {
		t.Errorf("%q", d.out)
	}
}
