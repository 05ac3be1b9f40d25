package torture_test

import (
	"bytes"
	"fmt"
	"testing"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/internal/torture"
)

// few prompts go to one conversation: each turn is given all images before it.
const few = 10

// mostHead is more than the head of a request. A server that hears half of one, and then its end, answers 400; and that is an answer.
const mostHead = 1 << 10

// TestAPromptIsAdmittedOnceWhateverIsCut cuts prompts on their way and their answers on theirs: each is one message.
func TestAPromptIsAdmittedOnceWhateverIsCut(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, database string) {
		s := newScene(t, database)
		image := client.Image{MediaType: "image/png", Data: bytes.Repeat([]byte("svc"), 20_000)}
		send := func(n int) error {
			prompt := client.Prompt{Body: fmt.Sprintf("n=1 prompt %d", n%few), Attachments: []client.Image{image}}
			_, err := s.through.Agents.Send(t.Context(), "assistant", fmt.Sprintf("up %d", n/few), prompt)
			return err
		}
		if err := send(0); err != nil {
			t.Fatal(err)
		}
		passed := s.proxy.Passed()[0]
		var plans []torture.Plan
		for i, at := range points(passed.Request, pick(24, 1800)) {
			way := ways[i%len(ways)]
			if way == torture.Truncate && at < mostHead {
				way = torture.Cut
			}
			plans = append(plans, torture.Plan{Of: torture.Request, After: at, Do: way})
		}
		for i, at := range points(passed.Answer, pick(24, 1000)) {
			plans = append(plans, torture.Plan{Of: torture.Answer, After: at, Do: ways[i%len(ways)]})
		}
		plans = append(plans, torture.Plan{Do: torture.Duplicate}, torture.Plan{Of: torture.Request, After: 300, Do: torture.Delay, Ms: 5})
		hits := 0
		for i, plan := range plans {
			plan.Match = "POST "
			s.plan(t, plan)
			if err := send(i + 1); err != nil {
				t.Fatalf("%+v: %v", plan, err)
			}
			hits += s.proxy.Hits()
		}
		for sent := 0; sent <= len(plans); sent += few {
			s.wantPrompts(t, fmt.Sprintf("up %d", sent/few), min(few, len(plans)+1-sent))
		}
		t.Attr("cuts-of-uploads", fmt.Sprintf("%d in %d bytes and %d of their answers, none lost, none doubled", hits, passed.Request, passed.Answer))
		if hits < len(plans)*9/10 { // a client that has its answer does not wait for the cut behind it
			t.Errorf("%d cuts of %d", hits, len(plans))
		}
	})
}

// wantPrompts waits until an instance has done what it was sent, and fails the test unless that is each prompt once, in order.
func (s *scene) wantPrompts(t testing.TB, instance string, want int) {
	t.Helper()
	last := s.prompt(t, "assistant", instance, "n=1 the last")
	if _, err := s.direct.Agents.Wait(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	stored, err := s.direct.Agents.History(t.Context(), "assistant", instance)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range stored.Messages {
		if m.Role != client.RoleUser || m.SubmissionID == last.SubmissionID {
			continue
		}
		if text := fmt.Sprintf("n=1 prompt %d", n); m.Text() != text {
			t.Fatalf("message %d is %q", n, m.Text())
		}
		n++
	}
	if n != want {
		t.Errorf("%d messages, want %d", n, want)
	}
}

// TestARunIsStartedOnceWhateverIsCut does the same to invocations, and to those that wait for a result.
func TestARunIsStartedOnceWhateverIsCut(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		seen := map[string]bool{}
		s.plan(t)
		first, err := s.through.Workflows.Invoke(t.Context(), "trivial", client.Invocation{})
		if err != nil {
			t.Fatal(err)
		}
		passed := s.proxy.Passed()[0]
		seen[first] = true
		for _, at := range points(passed.Answer, pick(20, 2000)) {
			key := fmt.Sprintf("key-%d", at)
			s.plan(t, torture.Plan{Match: "POST ", After: at, Do: torture.Cut})
			id, err := s.through.Workflows.Invoke(t.Context(), "trivial", client.Invocation{Key: key})
			if err != nil {
				t.Fatalf("at %d: %v", at, err)
			}
			again, err := s.direct.Workflows.Invoke(t.Context(), "trivial", client.Invocation{Key: key})
			if err != nil || again != id || seen[id] {
				t.Fatalf("at %d: %s, then %s, %v", at, id, again, err)
			}
			seen[id] = true
			s.plan(t, torture.Plan{Match: "wait=result", After: at, Do: torture.Cut})
			result, err := s.through.Workflows.Run(t.Context(), "hidden", client.Invocation{})
			if err != nil || string(result.Value) != `{"ok":true}` {
				t.Fatalf("at %d: %s, %v", at, result.Value, err)
			}
		}
	})
}
