package torture_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/internal/torture"
)

// ways are how an answer ends before its time.
var ways = []torture.Act{torture.Cut, torture.Reset, torture.Truncate}

// points are places in something of a size: all of them, or some that are spread evenly, both ends among them.
func points(size, some int) (all []int) {
	if size+1 <= some {
		some = size + 1
	}
	for i := range some {
		all = append(all, i*size/max(some-1, 1))
	}
	return all
}

// passed are the exchanges that have passed in a mode.
func (s *scene) passed(live client.Live) (all []torture.Exchange) {
	for _, x := range s.proxy.Passed() {
		if strings.Contains(x.Line, "live="+string(live)) {
			all = append(all, x)
		}
	}
	return all
}

// answered is the size of the largest answer that has passed in a mode.
func (s *scene) answered(live client.Live) (size int) {
	for _, x := range s.passed(live) {
		size = max(size, x.Answer)
	}
	return size
}

// TestEveryCutOfARunIsResumed reads a run that is over, and cuts the answer at every byte: each event comes once.
func TestEveryCutOfARunIsResumed(t *testing.T) {
	each(t, func(t *testing.T, s *scene) { s.cutRun(t, "a-run", 16, pick(120, 100_000)) })
}

// TestEveryCutOfSeveralPagesIsResumed does the same to a run of more than one answer: its reader goes on with the next.
func TestEveryCutOfSeveralPagesIsResumed(t *testing.T) {
	each(t, func(t *testing.T, s *scene) { s.cutRun(t, "several-pages", 1200, pick(4, 400)) })
}

// cutRun makes a run of so many lines, and reads it with each of its answers cut at some places.
func (s *scene) cutRun(t *testing.T, name string, lines, some int) {
	t.Helper()
	id := s.invoke(t, lines, 0)
	want, err := events(t.Context(), s.direct, id, client.SSE)
	if err != nil {
		t.Fatal(err)
	}
	for _, live := range []client.Live{client.SSE, client.LongPoll} {
		s.plan(t)
		if _, err := events(t.Context(), s.through, id, live); err != nil {
			t.Fatal(err)
		}
		size, cuts := 0, 0
		for _, whole := range s.passed(live) {
			for i, at := range points(whole.Answer, some) {
				way := ways[i%len(ways)]
				what := fmt.Sprintf("%s %s at %d of %d", live, way, at, whole.Answer)
				s.plan(t, torture.Plan{Match: placeOf(whole), After: at, Do: way})
				got, err := events(t.Context(), s.through, id, live)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				wantEvents(t, what, want, got)
				if at <= whole.Answer-unheard(live) {
					s.wantHit(t, what)
				}
				cuts += s.proxy.Hits()
			}
			size += whole.Answer
		}
		if cuts == 0 || size == 0 {
			t.Errorf("%s: %d cuts in %d bytes", live, cuts, size)
		}
		t.Attr("cuts-of-"+name+"-by-"+string(live), fmt.Sprintf("%d in %d bytes, none lost, none doubled", cuts, size))
	}
}

// place is where a reader stood who asked for something live. A cursor beside it differs from time to time.
var place = regexp.MustCompile(`offset=[^& ]+`)

func placeOf(x torture.Exchange) string { return place.FindString(x.Line) }

// unheard is how much of an answer its client may not wait for: the stream of a run that is over ends with a chunk that is empty,
// and the client is gone when it has read the last event.
func unheard(live client.Live) int {
	if live == client.SSE {
		return len("0\r\n\r\n")
	}
	return 0
}

// wantHit waits until the one plan has come true: a client may have had all it wanted just before.
func (s *scene) wantHit(t testing.TB, what string) {
	t.Helper()
	eventually(t, what+" is hit", func() bool { return s.proxy.Hits() == 1 })
}

// TestEveryCutOfAConversationIsResumed does the same to the updates of a conversation, and folds them.
func TestEveryCutOfAConversationIsResumed(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		s.prompt(t, "tooluser", "cut", "add")
		sent := s.prompt(t, "tooluser", "cut", "add once more")
		if _, err := s.direct.Agents.Wait(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
		for _, live := range []client.Live{client.SSE, client.LongPoll} {
			s.plan(t)
			if _, err := conversation(t.Context(), s.through, sent, live); err != nil {
				t.Fatal(err)
			}
			size, cuts := s.answered(live), 0
			planned := points(size, pick(80, 100_000))
			for i, at := range planned {
				way := ways[i%len(ways)]
				s.plan(t, torture.Plan{Match: "live=" + string(live), After: at, Do: way})
				folded, err := conversation(t.Context(), s.through, sent, live)
				if err != nil {
					t.Fatalf("%s %s at %d: %v", live, way, at, err)
				}
				s.wantHistory(t, fmt.Sprintf("%s %s at %d", live, way, at), folded, "tooluser", "cut")
				cuts += s.proxy.Hits()
			}
			t.Attr("cuts-of-a-conversation-by-"+string(live), fmt.Sprintf("%d in %d bytes, none lost, none doubled", cuts, size))
			if cuts < len(planned)*9/10 { // the reader is gone with the settlement, whatever is sent behind it
				t.Errorf("%s: %d cuts of %d", live, cuts, len(planned))
			}
		}
	})
}

// TestEveryCutOfAHistoryIsAskedForAgain cuts what is one answer.
func TestEveryCutOfAHistoryIsAskedForAgain(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		sent := s.prompt(t, "tooluser", "h", "add")
		if _, err := s.direct.Agents.Wait(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
		s.plan(t)
		if _, err := s.through.Agents.History(t.Context(), "tooluser", "h"); err != nil {
			t.Fatal(err)
		}
		size := s.proxy.Passed()[0].Answer
		for i, at := range points(size-1, pick(60, 100_000)) {
			way := ways[i%len(ways)]
			s.plan(t, torture.Plan{Match: "view=history", After: at, Do: way})
			got, err := s.through.Agents.History(t.Context(), "tooluser", "h")
			if err != nil {
				t.Fatalf("%s at %d: %v", way, at, err)
			}
			s.wantHistory(t, fmt.Sprintf("%s at %d", way, at), got, "tooluser", "h")
		}
	})
}

// TestWhatGoesOnIsFollowedThroughCuts cuts every connection at a random byte while work is under way.
func TestWhatGoesOnIsFollowedThroughCuts(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, database string) {
		for _, live := range []client.Live{client.Auto, client.SSE, client.LongPoll} {
			t.Run("live "+string(live), func(t *testing.T) {
				s := newScene(t, database)
				lines := pick(60, 1500)
				s.plan(t,
					torture.Plan{Match: "/runs/", Times: -1, Upto: lines * 200, Do: ways[rand.IntN(len(ways))]},
					torture.Plan{Match: "/agents/", Times: -1, Upto: lines * 200, Do: ways[rand.IntN(len(ways))]},
				)
				instance := "goes on " + string(live)
				id, sent := s.invoke(t, lines, 8), s.prompt(t, "assistant", instance, fmt.Sprintf("think n=%d delay=8", lines))
				var got []string
				var folded, observed *client.Conversation
				var errs [3]error
				var all sync.WaitGroup
				all.Go(func() { got, errs[0] = events(t.Context(), s.through, id, live) })
				all.Go(func() { folded, errs[1] = conversation(t.Context(), s.through, sent, live) })
				all.Go(func() { observed, errs[2] = s.observe(t, sent, live) })
				all.Wait()
				for _, err := range errs {
					if err != nil {
						t.Fatal(err)
					}
				}
				want, err := events(t.Context(), s.direct, id, client.CatchUp)
				if err != nil {
					t.Fatal(err)
				}
				wantEvents(t, string(live), want, got)
				s.wantHistory(t, "folded", folded, "assistant", instance)
				s.wantHistory(t, "observed", observed, "assistant", instance)
				t.Attr("cuts-while-it-goes-on", strconv.Itoa(s.proxy.Hits()))
			})
		}
	})
}

// observe watches a conversation until a submission has settled. It begins before anything was said.
func (s *scene) observe(t testing.TB, sent client.Admission, live client.Live) (*client.Conversation, error) {
	from := &client.Conversation{V: client.SnapshotVersion, Offset: client.Start}
	for seen, err := range s.through.Agents.Observe(t.Context(), sent.Agent, sent.Instance, client.ObserveOptions{Live: live, From: from}) {
		if err != nil {
			return nil, err
		}
		for _, settled := range seen.Conversation.Settlements {
			if settled.SubmissionID == sent.SubmissionID {
				return seen.Conversation, nil
			}
		}
	}
	return nil, nil
}

// TestTimeChangesNothing lets answers come late, in drops, or not before a proxy has all of them.
func TestTimeChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		id := s.invoke(t, 16, 0)
		want, err := events(t.Context(), s.direct, id, client.SSE)
		if err != nil {
			t.Fatal(err)
		}
		plans := []torture.Plan{
			{Do: torture.Delay, Ms: 20, After: 700}, {Do: torture.Trickle, After: 1}, {Do: torture.Trickle, Of: torture.Request},
			{Do: torture.Stall, Ms: 20, After: 900}, {Do: torture.Duplicate}, {Do: torture.Stall, Ms: 20, Of: torture.Request, After: 9},
		}
		if soak { // it takes as long as a client waits for the first sound
			plans = append(plans, torture.Plan{Do: torture.Hold})
		}
		for _, plan := range plans {
			for _, live := range []client.Live{client.Auto, client.LongPoll} {
				if plan.Match = "/runs/"; plan.Do == torture.Hold {
					plan.Match = "live=sse"
				}
				if plan.Do == torture.Hold && live == client.LongPoll {
					continue
				}
				s.plan(t, plan)
				got, err := events(t.Context(), s.through, id, live)
				if err != nil {
					t.Fatalf("%+v: %v", plan, err)
				}
				wantEvents(t, string(plan.Do), want, got)
				s.wantHit(t, fmt.Sprintf("%+v", plan))
			}
		}
	})
}
