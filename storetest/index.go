package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/workflow"
)

// indexLaw is what look-ups show.
type indexLaw struct{}

func (s *scene) run(scope, id string) workflow.Run {
	s.Helper()
	return sure(s.store.GetRun(s.Context(), scope, id))(s)
}

func (s *scene) runs(q svc.RunQuery) svc.RunPage {
	s.Helper()
	return sure(s.store.ListRuns(s.Context(), q))(s)
}

func (s *scene) conversations(q svc.ConversationQuery) svc.ConversationPage {
	s.Helper()
	return sure(s.store.Conversations(s.Context(), q))(s)
}

// equalRun compares runs with their times to the millisecond.
func equalRun(s *scene, got, want workflow.Run) {
	s.Helper()
	sameTime(s, "start", got.StartedAt, want.StartedAt)
	sameTime(s, "end", got.EndedAt, want.EndedAt)
	equal(s, "has ended", got.EndedAt.IsZero(), want.EndedAt.IsZero())
	got.StartedAt, got.EndedAt, want.StartedAt, want.EndedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	equal(s, "run", got, want)
}

func (indexLaw) RunIsActiveFromItsAdmission(s *scene) {
	a := invocation(run(1))
	s.admit(a)
	equalRun(s, s.run(scope, run(1).ID), workflow.Run{
		ID: run(1).ID, Scope: scope, Workflow: refund, Status: workflow.Active, StartedAt: s.db.Now(), Input: a.Input,
	})
}

func (indexLaw) RunKeepsByWhomItWasStarted(s *scene) {
	for n, key := range []string{"", "key"} {
		a := invocation(run(n))
		a.StartedBy = "acc_7"
		if key != "" {
			a = keyed(a, key, "body")
		}
		s.admit(a)
		equal(s, "look-up", s.run(scope, run(n).ID).StartedBy, "acc_7")
	}
	for _, r := range s.runs(svc.RunQuery{Scope: scope, Limit: 10}).Runs {
		equal(s, "list", r.StartedBy, "acc_7")
	}
}

func (indexLaw) RunIsFoundByItsIDAlone(s *scene) {
	a := invocation(run(1))
	l := s.hold(a)
	found, size, err := s.store.FindRun(s.Context(), scope, run(1).ID)
	s.must(err)
	equal(s, "stream", found, run(1))
	equal(s, "size", size, int64(len(a.Input)))
	c := s.lastCommit(l)
	c.Run.Result = json.RawMessage(`{"b":1}`)
	s.append(l, c)
	_, size, err = s.store.FindRun(s.Context(), scope, run(1).ID)
	s.must(err)
	equal(s, "size at the end", size, int64(len(a.Input)+len(c.Run.Result)))
	_, _, err = s.store.FindRun(s.Context(), "other", run(1).ID)
	s.refused(err, svc.ErrNotFound)
	_, _, err = s.store.FindRun(s.Context(), scope, run(2).ID)
	s.refused(err, svc.ErrNotFound)
}

func (indexLaw) RunWithoutInputHasNone(s *scene) {
	a := invocation(run(1))
	a.Input = nil
	l := s.hold(a)
	equal(s, "input", s.run(scope, run(1).ID).Input, nil)
	s.append(l, s.lastCommit(l))
	equal(s, "input at the end", s.run(scope, run(1).ID).Input, nil)

	a = invocation(run(2))
	a.Input = []byte("null")
	s.admit(a)
	equal(s, "null", s.run(scope, run(2).ID).Input, json.RawMessage("null"))
}

func (indexLaw) CompletedRunKeepsItsResult(s *scene) {
	l := s.hold(invocation(run(1)))
	s.db.Advance(time.Minute)
	c := s.lastCommit(l)
	c.Run.Result = json.RawMessage(`{"b": [1, 2], "a": "ä"}`)
	s.append(l, c)
	equalRun(s, s.run(scope, run(1).ID), *c.Run)
	s.reopen()
	equalRun(s, s.run(scope, run(1).ID), *c.Run)
}

func (indexLaw) ErroredRunKeepsItsError(s *scene) {
	l := s.hold(invocation(run(1)))
	s.db.Advance(time.Minute)
	c := s.lastCommit(l)
	c.Settle, c.Run.Status = svc.OutcomeFailed, workflow.Errored
	c.Run.Error = &workflow.Error{
		Name: "TypeError", Message: "no such order", Type: "bad_order", Details: "order 7",
		Meta: map[string]any{"order": "7", "tries": []any{1.0, true, nil}, "by": map[string]any{"role": "clerk"}},
	}
	s.append(l, c)
	equalRun(s, s.run(scope, run(1).ID), *c.Run)
}

func (indexLaw) RunOfAnotherScopeIsNotFound(s *scene) {
	s.admit(invocation(run(1)))
	for _, other := range []string{"other", ""} {
		s.refused(errOf(s.store.GetRun(s.Context(), other, run(1).ID)), svc.ErrNotFound)
	}
	s.refused(errOf(s.store.GetRun(s.Context(), scope, run(2).ID)), svc.ErrNotFound)
}

func (indexLaw) ConversationIsNoRun(s *scene) {
	s.admit(prompt(talk, "s1"))
	s.refused(errOf(s.store.GetRun(s.Context(), scope, "42")), svc.ErrNotFound)
	equal(s, "runs", len(s.runs(svc.RunQuery{Scope: scope, Limit: 10}).Runs), 0)
}

func ids(p svc.RunPage) []string {
	return each(p.Runs, func(r workflow.Run) string { return r.ID })
}

func (indexLaw) RunsAreListedNewestFirst(s *scene) {
	for _, n := range []int{2, 1, 3} {
		s.admit(invocation(run(n)))
	}
	p := s.runs(svc.RunQuery{Scope: scope, Limit: 10})
	equal(s, "runs", ids(p), []string{run(3).ID, run(2).ID, run(1).ID})
	equal(s, "more", p.More, false)
}

func (indexLaw) ListLeavesOutWhatALookUpShows(s *scene) {
	l := s.hold(invocation(run(1)))
	s.db.Advance(time.Minute)
	c := s.lastCommit(l)
	c.Run.Result = json.RawMessage(`{}`)
	s.append(l, c)
	p := s.runs(svc.RunQuery{Scope: scope, Limit: 10})
	equal(s, "runs", len(p.Runs), 1)
	want := *c.Run
	want.Input, want.Result = nil, nil
	equalRun(s, p.Runs[0], want)
}

func (indexLaw) ListShowsWhyARunFailedUnlessThatIsLong(s *scene) {
	for n, message := range []string{"no such order", strings.Repeat("x", 3<<10)} {
		l := s.hold(invocation(run(n)))
		c := s.lastCommit(l)
		c.Settle, c.Run.Status, c.Run.Error = svc.OutcomeFailed, workflow.Errored, &workflow.Error{Name: "TypeError", Message: message}
		s.append(l, c)
	}
	p := s.runs(svc.RunQuery{Scope: scope, Limit: 10})
	equal(s, "long", p.Runs[0].Error, (*workflow.Error)(nil))
	equal(s, "short", p.Runs[1].Error, &workflow.Error{Name: "TypeError", Message: "no such order"})
}

func (indexLaw) PagesOfRunsMeetWithoutLossOrDoubles(s *scene) {
	var want []string
	for n := range 25 {
		s.admit(invocation(run(n)))
		want = append([]string{run(n).ID}, want...)
	}
	q := svc.RunQuery{Scope: scope, Limit: 10}
	var seen []string
	for _, size := range []int{10, 10, 5} {
		p := s.runs(q)
		equal(s, "page", len(p.Runs), size)
		seen = append(seen, ids(p)...)
		q.Before = seen[len(seen)-1]
		equal(s, "more", p.More, len(seen) < 25)
	}
	equal(s, "runs", seen, want)
	q.Before = seen[len(seen)-1]
	equal(s, "behind the last", len(s.runs(q).Runs), 0)
}

// mixedRuns is six runs, refund and audit in turn, of which 0 and 1 completed and 2 failed.
func mixedRuns(s *scene) {
	s.Helper()
	for n := range 6 {
		st := run(n)
		st.Name = []string{refund, "audit"}[n%2]
		l := s.hold(invocation(st))
		c := s.lastCommit(l)
		switch {
		case n == 2:
			c.Settle, c.Run.Status, c.Run.Error = svc.OutcomeFailed, workflow.Errored, &workflow.Error{Name: "Error"}
		case n > 2:
			continue
		}
		s.append(l, c)
	}
}

func (indexLaw) RunsAreFilteredByStatusAndWorkflow(s *scene) {
	mixedRuns(s)
	for _, c := range []struct {
		status   workflow.Status
		workflow string
		want     []int
	}{
		{"", "", []int{5, 4, 3, 2, 1, 0}},
		{workflow.Active, "", []int{5, 4, 3}},
		{workflow.Completed, "", []int{1, 0}},
		{workflow.Errored, "", []int{2}},
		{"", refund, []int{4, 2, 0}},
		{"", "audit", []int{5, 3, 1}},
		{workflow.Active, "audit", []int{5, 3}},
		{workflow.Errored, "audit", nil},
		{"", "unknown", nil},
	} {
		want := each(c.want, func(n int) string { return run(n).ID })
		p := s.runs(svc.RunQuery{Scope: scope, Status: c.status, Workflow: c.workflow, Limit: 10})
		equal(s, fmt.Sprintf("runs %q of %q", c.status, c.workflow), ids(p), want)
	}
}

func (indexLaw) MoreIsFalseOnTheLastFullPage(s *scene) {
	mixedRuns(s)
	q := svc.RunQuery{Scope: scope, Workflow: "audit", Limit: 3}
	equal(s, "three of three", s.runs(q).More, false)
	q.Limit = 2
	equal(s, "two of three", s.runs(q).More, true)
	// The runs that remain do not match.
	q = svc.RunQuery{Scope: scope, Status: workflow.Active, Limit: 3}
	equal(s, "three of three active", s.runs(q).More, false)
	q.Before = run(4).ID
	equal(s, "before the fourth", ids(s.runs(q)), []string{run(3).ID})
}

func (indexLaw) ListOfAScopeShowsNoOther(s *scene) {
	s.admit(invocation(run(1)), invocation(in("other", run(2))))
	equal(s, "here", ids(s.runs(svc.RunQuery{Scope: scope, Limit: 10})), []string{run(1).ID})
	equal(s, "there", ids(s.runs(svc.RunQuery{Scope: "other", Limit: 10})), []string{run(2).ID})
	equal(s, "nowhere", ids(s.runs(svc.RunQuery{Limit: 10})), nil)
}

func (indexLaw) ListOfAllScopesSaysWhoseEachRunIs(s *scene) {
	mixedRuns(s)
	s.admit(invocation(in("other", run(7))), invocation(in("", run(6))))
	for status, want := range map[workflow.Status][]string{
		"":              {"other 7", " 6", scope + " 5", scope + " 4", scope + " 3", scope + " 2", scope + " 1", scope + " 0"},
		workflow.Active: {"other 7", " 6", scope + " 5", scope + " 4", scope + " 3"}, workflow.Completed: {scope + " 1", scope + " 0"}, workflow.Errored: {scope + " 2"},
	} {
		var got []string
		q := svc.RunQuery{All: true, Status: status, Scope: "nobody", Limit: 2}
		for more := true; more; {
			p := s.runs(q)
			for _, r := range p.Runs {
				got = append(got, r.Scope+" "+strings.TrimLeft(r.ID[len("run_"):len(r.ID)-1], "0")+r.ID[len(r.ID)-1:])
				q.Before = r.ID
			}
			more = p.More
		}
		equal(s, fmt.Sprintf("runs %q of all", status), got, want)
	}
}

// states is how a stream's unsettled work is listed.
func (s *scene) states(st svc.Stream) []string {
	s.Helper()
	return each(s.submissions(st), func(sub svc.Submission) string { return sub.ID + " " + sub.State })
}

func (indexLaw) SubmissionsTellTheirState(s *scene) {
	s.admit(prompt(talk, "s1"), prompt(talk, "s2"))
	equal(s, "waiting", s.states(talk), []string{"s1 queued", "s2 queued"})
	l := s.claim("one")
	equal(s, "held", s.states(talk), []string{"s1 running", "s2 queued"})
	s.abort(talk, "s1")
	equal(s, "marked", s.states(talk), []string{"s1 aborting", "s2 queued"})
	s.append(l, settled())
	equal(s, "settled", s.states(talk), []string{"s2 running"})

	sub := s.submissions(talk)[0]
	equal(s, "kind", sub.Kind, svc.Direct)
	sameTime(s, "admitted", sub.AdmittedAt, s.db.Now())
}

func (indexLaw) ParkedSubmissionTellsItsReason(s *scene) {
	l := twoPrompts(s)
	s.release(l, time.Hour, "backoff")
	equal(s, "states", s.states(talk), []string{"s1 parked", "s2 queued"})
	subs := s.submissions(talk)
	equal(s, "reasons", []string{subs[0].Reason, subs[1].Reason}, []string{"backoff", ""})

	s.db.Advance(time.Hour)
	s.claim("one")
	equal(s, "states", s.states(talk), []string{"s1 running", "s2 queued"})
	equal(s, "reason", s.submissions(talk)[0].Reason, "")
}

func (indexLaw) SubmissionsAreListedInOrderUpToAThousand(s *scene) {
	const admitted, listed = 1010, 1000
	race(32, func(i int) {
		for n := i; n < admitted; n += 32 {
			if _, err := s.store.Admit(s.Context(), prompt(talk, fmt.Sprint(n))); err != nil {
				s.Error(err)
			}
		}
	})
	subs := s.submissions(talk)
	equal(s, "listed", len(subs), listed)
	for i, sub := range subs {
		equal(s, "seq", sub.Seq, int64(i))
	}
}

func names(p svc.ConversationPage) []string {
	return each(p.Conversations, func(c svc.Conversation) string { return c.Agent + "/" + c.ID })
}

func (indexLaw) ConversationsAreListedLastUsedFirst(s *scene) {
	for _, id := range []string{"b", "c", "a", "b"} {
		s.admit(prompt(conversation(id), "s"))
		s.db.Advance(time.Second)
	}
	p := s.conversations(svc.ConversationQuery{Scope: scope, Limit: 10})
	equal(s, "conversations", names(p), []string{"support/b", "support/a", "support/c"})
	equal(s, "more", p.More, false)
	sameTime(s, "used", p.Conversations[0].UsedAt, s.db.Now().Add(-time.Second))
	sameTime(s, "used", p.Conversations[2].UsedAt, s.db.Now().Add(-3*time.Second))
}

func (indexLaw) ConversationsAreListedWithTheirBeginningAndState(s *scene) {
	began := s.db.Now()
	first := prompt(talk, "s1")
	first.Input = []byte(`{"kind":"user","body":"` + strings.Repeat("x", 2*svc.InputHead) + `"}`)
	stands := func(state string) {
		s.Helper()
		c := s.conversations(svc.ConversationQuery{Scope: scope, Agent: agent, Limit: 10}).Conversations[0]
		equal(s, "state", c.State, state)
		sameTime(s, "created", c.CreatedAt, began)
		if len(c.First) == 0 || !bytes.HasPrefix(first.Input, c.First) {
			s.Errorf("it began %.40q, want %.40q", c.First, first.Input)
		}
	}
	s.admit(first)
	stands(svc.StateWaiting)
	s.db.Advance(time.Second)
	l := s.claim("one")
	stands(svc.StateRunning)
	for outcome, want := range map[svc.Outcome]string{
		svc.OutcomeCompleted: svc.StateIdle, svc.OutcomeFailed: svc.StateFailed, svc.OutcomeAborted: svc.StateIdle,
	} {
		c := settled()
		c.Settle = outcome
		s.append(l, c)
		stands(want)
		l = s.hold(prompt(talk, "then "+string(outcome)))
		stands(svc.StateRunning)
	}
	s.release(l, time.Minute, svc.ReasonBackoff)
	stands(svc.StateWaiting)

	// One that was erased begins anew.
	s.drop(talk)
	began, first = s.db.Now(), prompt(talk, "again")
	s.admit(first)
	stands(svc.StateWaiting)
}

func (indexLaw) PagesOfConversationsMeetWithoutLossOrDoubles(s *scene) {
	// Many are of one instant: the time alone is no place to go on from.
	for n := range 25 {
		st := conversation(fmt.Sprintf("%02d", n))
		st.Name = []string{agent, "sales"}[n%2]
		s.admit(prompt(st, "s"))
		if n%8 == 0 {
			s.db.Advance(time.Second)
		}
	}
	q := svc.ConversationQuery{Scope: scope, Limit: 10}
	seen, last := map[string]bool{}, s.db.Now()
	for _, size := range []int{10, 10, 5} {
		p := s.conversations(q)
		equal(s, "page", len(p.Conversations), size)
		for i, c := range p.Conversations {
			if c.UsedAt.After(last) {
				s.Errorf("%s was used at %v, after the one before", c.ID, c.UsedAt)
			}
			seen[names(p)[i]], last = true, c.UsedAt
		}
		q.Before = &p.Conversations[size-1]
		equal(s, "more", p.More, len(seen) < 25)
	}
	equal(s, "conversations", len(seen), 25)
}

func (indexLaw) ConversationsAreFilteredByAgent(s *scene) {
	sales := conversation("7")
	sales.Name = "sales"
	s.admit(prompt(sales, "s1"), prompt(talk, "s1"))
	q := svc.ConversationQuery{Scope: scope, Agent: "sales", Limit: 10}
	equal(s, "of sales", names(s.conversations(q)), []string{"sales/7"})
	q.Limit = 1
	equal(s, "more", s.conversations(q).More, false)
	q.Agent = "unknown"
	equal(s, "of nobody", names(s.conversations(q)), nil)
}

func (indexLaw) OnlyConversationsOfTheScopeAreListed(s *scene) {
	s.admit(prompt(talk, "s1"), prompt(in("other", conversation("43")), "s1"), invocation(run(1)))
	equal(s, "here", names(s.conversations(svc.ConversationQuery{Scope: scope, Limit: 10})), []string{"support/42"})
	equal(s, "there", names(s.conversations(svc.ConversationQuery{Scope: "other", Limit: 10})), []string{"support/43"})
}
