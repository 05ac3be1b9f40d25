package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// each runs a test against the contract program on both databases.
func each(t *testing.T, fn func(t *testing.T, c *client.Client)) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) { fn(t, ask(t, serve(t, address).URL)) })
}

// say sends a prompt that must be taken.
func say(t testing.TB, c *client.Client, agent, instance, text string) client.Admission {
	t.Helper()
	sent, err := c.Agents.Send(t.Context(), agent, instance, client.Prompt{Body: text})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// wantError fails the test unless the error is of a type, and names its request where there was one.
func wantError(t testing.TB, err error, typ string, status int) *client.Error {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Type != typ || e.Status != status || e.Message == "" || (status > 0) != strings.HasPrefix(e.RequestID, "req_") {
		t.Fatalf("%v (%+v), want %s, %d", err, e, typ, status)
	}
	return e
}

func TestAPromptIsSentAndWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		sent := say(t, c, "assistant", "a/b c", "think n=3")
		if sent.SubmissionID == "" || sent.Offset == "" || !strings.HasSuffix(sent.StreamURL, "/agents/assistant/a%2Fb%20c") || sent.Replayed {
			t.Errorf("admitted %+v", sent)
		}
		reply, err := c.Agents.Wait(t.Context(), sent)
		if err != nil || reply.Text() != "word0 word1 word2 " || reply.Settlement.Outcome != client.Completed {
			t.Fatalf("%q, %+v, %v", reply.Text(), reply.Settlement, err)
		}
		if len(reply.Messages) != 2 || reply.Messages[0].Text() != "think n=3" || reply.Messages[1].Metadata.Usage == nil {
			t.Errorf("%d messages", len(reply.Messages))
		}
		again, err := c.Agents.Wait(t.Context(), sent)
		if err != nil || again.Text() != reply.Text() {
			t.Errorf("waited again: %q, %v", again.Text(), err)
		}
	})
}

func TestASignalKeepsTheOrderOfItsAttributes(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		pairs := client.Attributes{{"z", "1"}, {"a", "<2>"}, {"m", "\u2028"}}
		sent, err := c.Agents.Send(t.Context(), "assistant", "s", client.Prompt{Type: "webhook", Body: "n=1", TagName: "event", Attributes: pairs})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := c.Agents.Wait(t.Context(), sent)
		if err != nil {
			t.Fatal(err)
		}
		signal := reply.Messages[0].Signal
		if signal == nil || signal.TagName != "event" || !slices.Equal(signal.Attributes, pairs) || signal.Attributes.Get("a") != "<2>" {
			t.Errorf("signal %+v", signal)
		}
	})
}

func TestAPromptThatFailsIsAnErrorOfItsSubmission(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		reply, err := c.Agents.Wait(t.Context(), say(t, c, "assistant", "f", "fail"))
		e, _ := errors.AsType[*client.Error](err)
		if e == nil || e.Type != "operation_failed" || e.Target != client.TargetSubmission || reply.Settlement.Outcome != client.Failed {
			t.Errorf("%v, %+v", err, reply.Settlement)
		}
	})
}

func TestWorkIsListedAndAborted(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		first, second := say(t, c, "assistant", "x", "n=100000 delay=20"), say(t, c, "assistant", "x", "n=1")
		eventually(t, "the first is under way", func() bool {
			list, err := c.Agents.Submissions(t.Context(), "assistant", "x")
			if err != nil {
				t.Fatal(err)
			}
			return len(list) == 2 && list[0].State == "running" && list[0].SubmissionID == first.SubmissionID && list[1].Preview == "n=1" && !list[1].AdmittedAt.IsZero()
		})
		for _, want := range []bool{true, false} {
			aborted, err := c.Agents.Abort(t.Context(), "assistant", "x", first.SubmissionID)
			if err != nil || aborted != want {
				t.Errorf("aborted %v, %v", aborted, err)
			}
			if _, err := c.Agents.Wait(t.Context(), first); !client.Is(err, "submission_aborted") {
				t.Errorf("waited for what was aborted: %v", err)
			}
		}
		if reply, err := c.Agents.Wait(t.Context(), second); err != nil || reply.Text() != "word0 " {
			t.Errorf("the second: %q, %v", reply.Text(), err)
		}
		if aborted, err := c.Agents.Abort(t.Context(), "assistant", "x", ""); err != nil || aborted {
			t.Errorf("aborted nothing: %v, %v", aborted, err)
		}
	})
}

func TestAnImageIsSentAndDownloaded(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		data := bytes.Repeat([]byte{0, 1, 2, 0xff}, 1<<19) // longer than what waits for leave
		sent, err := c.Agents.Send(t.Context(), "tooluser", "i", client.Prompt{Body: "see", Attachments: []client.Image{{MediaType: "image/png", Filename: "é.png", Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := c.Agents.Wait(t.Context(), sent)
		if err != nil {
			t.Fatal(err)
		}
		part := reply.Messages[0].Parts[1]
		if part.Type != client.PartFile || part.Size != int64(len(data)) || part.MediaType != "image/png" || part.Filename != "é.png" {
			t.Errorf("part %+v", part)
		}
		file, err := c.Agents.Attachment(t.Context(), "tooluser", "i", part.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Body.Close()
		got, err := io.ReadAll(file.Body)
		if err != nil || !bytes.Equal(got, data) || file.MediaType != "image/png" || file.Size != int64(len(data)) {
			t.Errorf("%d bytes of %s, %d, %v", len(got), file.MediaType, file.Size, err)
		}
		if url := c.Agents.AttachmentURL("tooluser", "i", part.ID); !strings.HasSuffix(url, "/agents/tooluser/i/attachments/"+part.ID) {
			t.Errorf("at %s", url)
		}
		_, err = c.Agents.Attachment(t.Context(), "tooluser", "i", "other")
		wantError(t, err, "attachment_not_found", 404)
	})
}

func TestObservingGivesWhatHistoryHas(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		first := say(t, c, "tooluser", "o", "add")
		if _, err := c.Agents.Wait(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		for _, live := range []client.Live{client.Auto, client.LongPoll} {
			second := say(t, c, "tooluser", "o", "once more")
			var last *client.Conversation
			was := false
			for seen, err := range c.Agents.Observe(t.Context(), "tooluser", "o", client.ObserveOptions{Live: live}) {
				if err != nil {
					t.Fatal(err)
				}
				last, was = seen.Conversation, was || seen.Live
				if settledIn(last, second.SubmissionID) && seen.Live {
					break
				}
			}
			stored, err := c.Agents.History(t.Context(), "tooluser", "o")
			if err != nil {
				t.Fatal(err)
			}
			if diff := differ(last, stored); diff != "" || !was || last.Offset != stored.Offset {
				t.Errorf("%q: observed at %s, stored at %s: %s", live, last.Offset, stored.Offset, diff)
			}
			if p := stored.Messages[1].Parts[0]; p.State != client.StateOutput || string(p.Output) != "5" {
				t.Errorf("part %+v", p)
			}
		}
	})
}

func settledIn(c *client.Conversation, submission string) bool {
	return slices.ContainsFunc(c.Settlements, func(s client.Settlement) bool { return s.SubmissionID == submission })
}

func TestAnObserverGoesOnWithWhatItKept(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		say(t, c, "assistant", "k", "n=2")
		sent := say(t, c, "assistant", "k", "n=2")
		var kept *client.Conversation
		for seen, err := range c.Agents.Observe(t.Context(), "assistant", "k", client.ObserveOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			kept = seen.Conversation.Clone()
			break
		}
		text, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		var from client.Conversation
		if err := json.Unmarshal(text, &from); err != nil {
			t.Fatal(err)
		}
		for seen, err := range c.Agents.Observe(t.Context(), "assistant", "k", client.ObserveOptions{From: &from}) {
			if err != nil {
				t.Fatal(err)
			}
			if kept = seen.Conversation; settledIn(kept, sent.SubmissionID) {
				break
			}
		}
		stored, err := c.Agents.History(t.Context(), "assistant", "k")
		if err != nil {
			t.Fatal(err)
		}
		if diff := differ(kept, stored, kept.Messages[:min(len(from.Messages), len(kept.Messages))]...); diff != "" {
			t.Error(diff)
		}
	})
}

func TestACheckpointGivesTheRest(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		if _, err := c.Agents.Wait(t.Context(), say(t, c, "assistant", "p", "think n=20")); err != nil {
			t.Fatal(err)
		}
		all := updates(t, c, "p", client.Start)
		for i := range all {
			if i < len(all)-1 && all[i].Checkpoint != client.Start {
				t.Fatalf("update %d of %d moves the checkpoint to %s", i, len(all), all[i].Checkpoint)
			}
		}
		if rest := updates(t, c, "p", all[len(all)-1].Checkpoint); len(rest) > 0 {
			t.Errorf("%d updates behind the last checkpoint", len(rest))
		}
	})
}

// updates are those behind an offset.
func updates(t testing.TB, c *client.Client, instance, after string) (all []client.Update) {
	t.Helper()
	for u, err := range c.Agents.Updates(t.Context(), "assistant", instance, client.StreamOptions{After: after, Live: client.CatchUp}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

func TestAKeyMakesTwoPromptsOne(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		prompt := client.Prompt{Body: "n=1", Key: "k1"}
		first, err := c.Agents.Send(t.Context(), "assistant", "key", prompt)
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.Agents.Send(t.Context(), "assistant", "key", prompt)
		if err != nil || second.SubmissionID != first.SubmissionID || !second.Replayed || first.Replayed {
			t.Errorf("%+v, then %+v, %v", first, second, err)
		}
		prompt.Body = "n=2"
		_, err = c.Agents.Send(t.Context(), "assistant", "key", prompt)
		wantError(t, err, "idempotency_conflict", 409)
	})
}

func TestAWorkflowIsRun(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		result, err := c.Workflows.Run(t.Context(), "summarize", client.Invocation{Input: map[string]string{"text": "n=2"}})
		if err != nil || string(result.Value) != `{"summary":"word0 word1 "}` || !strings.HasPrefix(result.RunID, "run_") {
			t.Errorf("%s %s, %v", result.RunID, result.Value, err)
		}
		result, err = c.Workflows.Run(t.Context(), "failing", client.Invocation{})
		if e := wantError(t, err, client.RunFailed, 0); e.Target != client.TargetRun || e.Message != "failed on purpose" || result.RunID == "" {
			t.Errorf("%+v of %q", e, result.RunID)
		}
		// Its runs are not shown: the server holds the answer.
		result, err = c.Workflows.Run(t.Context(), "hidden", client.Invocation{})
		if err != nil || string(result.Value) != `{"ok":true}` {
			t.Errorf("hidden: %s, %v", result.Value, err)
		}
		_, err = c.Workflows.Invoke(t.Context(), "steps", client.Invocation{Input: json.RawMessage(`{"n":"x"}`)})
		if e := wantError(t, err, "action_input_validation", 400); len(e.Meta) == 0 {
			t.Errorf("no meta: %+v", e)
		}
		_, err = c.Workflows.Invoke(t.Context(), "nobody", client.Invocation{})
		wantError(t, err, "workflow_not_found", 404)
		_, err = c.Workflows.Invoke(t.Context(), "steps", client.Invocation{Input: json.RawMessage(`{`)})
		wantError(t, err, client.InvalidInput, 0)
	})
}

func TestARunIsLookedUpAndFollowed(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		id, err := c.Workflows.Invoke(t.Context(), "chatty", client.Invocation{Input: map[string]int{"n": 30, "delay": 2}})
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for e, err := range c.Runs.Stream(t.Context(), id, client.StreamOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Index != int64(len(types)) || e.RunID != id || e.Timestamp.IsZero() {
				t.Errorf("event %+v", e)
			}
			types = append(types, e.Type)
		}
		if len(types) != 32 || types[0] != client.EventStart || types[31] != client.EventEnd {
			t.Fatalf("%d events: %v", len(types), types)
		}
		for o, want := range map[client.StreamOptions]int{
			{}: 32, {Tail: 3}: 3, {After: client.Now}: 0, {Live: client.LongPoll}: 32, {Tail: 5, Live: client.LongPoll}: 5,
		} {
			if n := count(t, c.Runs.Stream(t.Context(), id, o)); n != want {
				t.Errorf("%+v: %d events, want %d", o, n, want)
			}
			if n := count(t, c.Runs.Events(t.Context(), id, o)); n != want {
				t.Errorf("caught up with %+v: %d events, want %d", o, n, want)
			}
		}
		run, err := c.Runs.Get(t.Context(), id)
		if err != nil || run.Status != client.RunCompleted || run.WorkflowName != "chatty" || run.EndedAt == nil || *run.IsError || string(run.Input) != `{"delay":2,"n":30}` {
			t.Errorf("%+v, %v", run, err)
		}
		_, err = c.Runs.Get(t.Context(), "run_none")
		wantError(t, err, "run_not_found", 404)
		_, err = c.Runs.List(t.Context(), client.RunQuery{})
		wantError(t, err, "route_not_found", 404)
	})
}

func count(t testing.TB, events func(func(client.Event, error) bool)) (n int) {
	t.Helper()
	for _, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestAGuardOfTheApplicationIsHeard(t *testing.T) {
	address := sqldbtest.SQLite(t)
	url := serve(t, address).URL
	c := ask(t, url)
	id, err := c.Workflows.Invoke(t.Context(), "guarded", client.Invocation{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Runs.Get(t.Context(), id)
	if e := wantError(t, err, "http_403", 403); !strings.Contains(e.Details, "blocked") {
		t.Errorf("details %q", e.Details)
	}
	allowed := ask(t, url, func(c *client.Config) { c.Header = http.Header{"x-allow": {"yes"}} })
	if n := count(t, allowed.Runs.Stream(t.Context(), id, client.StreamOptions{})); n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestWhatIsNotThereIsSaidOnce(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		_, err := c.Agents.History(t.Context(), "assistant", "nobody")
		wantError(t, err, "stream_not_found", 404)
		_, err = c.Agents.Send(t.Context(), "private", "x", client.Prompt{})
		wantError(t, err, "agent_not_found", 404)
		for _, err := range c.Agents.Observe(t.Context(), "assistant", "nobody", client.ObserveOptions{}) {
			wantError(t, err, "stream_not_found", 404)
		}
		say(t, c, "assistant", "somebody", "n=1")
		for _, err := range c.Agents.Updates(t.Context(), "assistant", "somebody", client.StreamOptions{After: "0000000000000000_0000000000099999"}) {
			wantError(t, err, "stream_offset_gone", 410)
		}
	})
}

func TestAContextEndsWhatIsAsked(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		say(t, c, "assistant", "ctx", "n=2")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		why := errors.New("enough")
		n := 0
		for _, err := range c.Agents.Updates(ctx, "assistant", "ctx", client.StreamOptions{}) {
			if err != nil {
				if !client.Is(err, client.Cancelled) || !errors.Is(err, why) {
					t.Errorf("ended with %v", err)
				}
				break
			}
			n++
			cancel(why)
		}
		if n == 0 {
			t.Error("no updates")
		}
		_, err := c.Agents.History(ctx, "assistant", "ctx")
		wantError(t, err, client.Cancelled, 0)
	})
}

func TestAnyRouteCanBeAsked(t *testing.T) {
	url := serve(t, sqldbtest.SQLite(t)).URL
	c := ask(t, url)
	answer, err := c.Do(t.Context(), client.Request{Path: "/channels/echo/ping"})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "pong" {
		t.Errorf("%q, %v", text, err)
	}
	var sent struct{ DispatchID string }
	if err := c.Call(t.Context(), client.Request{Path: "/channels/echo/in", JSON: map[string]string{"id": "d", "text": "n=1"}}, &sent); err != nil || sent.DispatchID == "" {
		t.Errorf("%+v, %v", sent, err)
	}
	opened := 0
	body := func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(strings.NewReader(`{"id":"d","text":"n=1"}`)), nil
	}
	err = c.Call(t.Context(), client.Request{Path: "/channels/echo/in", Body: body, Length: 23}, &sent)
	if err != nil || opened == 0 {
		t.Errorf("%v after %d bodies", err, opened)
	}
	if err := c.Call(t.Context(), client.Request{Path: "/channels/echo/ping"}, &sent); !client.Is(err, client.UnexpectedAnswer) {
		t.Errorf("text for JSON: %v", err)
	}
}

func TestAnAddressMustBeOne(t *testing.T) {
	for _, url := range []string{"", "agents.example.com", "ftp://x", "http://", "http://x?y", "http://x#y", "http://u:p@x", "http://[::1"} {
		if _, err := client.New(client.Config{BaseURL: url}); !client.Is(err, client.InvalidInput) {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, url := range []string{"http://127.0.0.1:1", "https://agents.example.com/v1/ada/personal/"} {
		c, err := client.New(client.Config{BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.Agents.AttachmentURL("a", "b", "c"), strings.TrimRight(url, "/")+"/agents/a/b/attachments/c"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// differ says how a conversation that was folded differs from one that is stored, but for what may: wire.md section 4, rule 7.
// Messages that were known before the updates lack their model where they were not complete.
func differ(folded, stored *client.Conversation, known ...*client.Message) string {
	partial := map[string]bool{}
	for _, m := range known {
		partial[m.ID] = true
	}
	a, b := normal(folded, partial), normal(stored, partial)
	if a == b {
		return ""
	}
	return fmt.Sprintf("folded\n%s\nstored\n%s", a, b)
}

// normal is a conversation without what may differ.
func normal(c *client.Conversation, partial map[string]bool) string {
	c = c.Clone()
	c.Offset = ""
	for _, m := range c.Messages {
		var parts []*client.Part
		for _, p := range m.Parts {
			spoken := p.Type == client.PartText || p.Type == client.PartReasoning
			if n := len(parts) - 1; spoken && n >= 0 && parts[n].Type == p.Type {
				parts[n].Text += p.Text
				parts[n].State = p.State
			} else if !spoken || p.Text != "" || m.Role != client.RoleAssistant {
				parts = append(parts, p)
			}
		}
		m.Parts = parts
		if m.Role == client.RoleAssistant && m.Metadata.Usage == nil {
			m.Metadata.Model = nil
			if n := len(parts) - 1; n >= 0 && parts[n].State == client.StateStreaming {
				parts[n].State = client.StateDone
			}
		}
		if partial[m.ID] {
			m.Metadata.Model = nil
		}
	}
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestToStopAllIsAskedForOnce loses the first answer: what was sent since must not be stopped too.
func TestToStopAllIsAskedForOnce(t *testing.T) {
	for submission, times := range map[string]int{"": 1, "sub_1": 2} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"aborted":true}`)
		}))
		c := ask(t, server.URL, func(config *client.Config) { config.HTTP = server.Client() })
		stopped, err := c.Agents.Abort(t.Context(), "assistant", "x", submission)
		server.Close()
		if int(asked.Load()) != times || stopped != (times == 2) || (err == nil) != (times == 2) {
			t.Errorf("%q is stopped: %t, %v after %d requests", submission, stopped, err, asked.Load())
		}
	}
}
