package storetest

import (
	"fmt"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/stream"
)

// queueLaw is how work is admitted, made sure to be admitted once, and called off.
type queueLaw struct{}

func (queueLaw) SubmissionsAreWorkedInOrder(s *scene) {
	s.admit(prompt(talk, "s1"), prompt(talk, "s2"), prompt(talk, "s3"))
	l := s.claim("one")
	equal(s, "first", l.Submission.ID, "s1")
	s.append(l, settled())
	equal(s, "queue", s.queue(talk), []string{"s2", "s3"})
	s.release(l, 0, "")

	l = s.claim("one")
	equal(s, "second", l.Submission.ID, "s2")
	s.append(l, settled())
	s.append(l, settled())
	equal(s, "queue", s.queue(talk), nil)
	s.claimNothing("one")
}

func (queueLaw) ReceiptNamesTheTailBeforeTheWork(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	s.append(l, batch(1, "a"))
	s.append(l, batch(1, "b"))
	equal(s, "offset", s.admit(prompt(talk, "s2")).Offset, 2)
	equal(s, "offset of a run", s.admit(invocation(run(1))).Offset, stream.Start)
}

func (queueLaw) AdmissionIsDurable(s *scene) {
	s.admit(prompt(talk, "s1"), invocation(run(1)))
	s.reopen()
	equal(s, "log", s.log(talk), []string{opening})
	equal(s, "queue", s.queue(talk), []string{"s1"})
	equal(s, "queue of the run", s.queue(run(1)), []string{run(1).ID})
	equal(s, "claimable", len(s.claimAs(owner("two"), 10).Leases), 2)
}

func (queueLaw) AdmittedInputComesBackByteForByte(s *scene) {
	a := prompt(talk, "s1")
	a.Kind, a.Input = svc.Dispatched, []byte("{\"b\": 1,\n \"a\":\"\xff\x00\"}")
	s.admit(a)
	claimed := s.claim("one")
	sub := claimed.Submission
	equal(s, "input", s.input(claimed, sub), a.Input)
	equal(s, "kind", sub.Kind, svc.Dispatched)

	a = invocation(run(1))
	a.Input = nil
	l := s.hold(a)
	equal(s, "no input", l.Submission.Input, nil)
	equal(s, "nothing fetched", s.input(l, l.Submission), nil)
}

func (s *scene) input(l svc.Lease, b svc.Submission) []byte {
	s.Helper()
	return sure(s.store.Input(s.Context(), l, b))(s)
}

func (queueLaw) RacingFirstAdmissionsOpenOnce(s *scene) {
	const racers = 64
	race(racers, func(i int) {
		a := prompt(talk, fmt.Sprintf("s%d", i))
		a.Opening = fmt.Appendf(nil, "opening %d", i)
		r, err := s.store.Admit(s.Context(), a)
		if err != nil || r.Offset != 0 {
			s.Errorf("receipt %+v, %v", r, err)
		}
	})
	rows := s.page(talk, everything()).Batches
	equal(s, "rows", len(rows), 1)
	equal(s, "offset", rows[0].Last, 0)
	seen := map[string]bool{}
	for i, sub := range s.submissions(talk) {
		equal(s, "seq", sub.Seq, int64(i))
		seen[sub.ID] = true
	}
	equal(s, "submissions", len(seen), racers)
}

func (queueLaw) TimesComeFromTheClock(s *scene) {
	s.db.Advance(1000 * time.Hour)
	admitted := s.db.Now()
	r := s.admit(invocation(run(1)))
	s.db.Advance(time.Minute)
	l := s.claim("one")
	s.append(l, s.lastCommit(l))

	got := s.run(scope, run(1).ID)
	sameTime(s, "receipt", r.AdmittedAt, admitted)
	sameTime(s, "submission", l.Submission.AdmittedAt, admitted)
	sameTime(s, "start", got.StartedAt, admitted)
	sameTime(s, "batch", s.page(run(1), everything()).Batches[0].At, s.db.Now())
	sameTime(s, "end", got.EndedAt, s.db.Now())
}

func (queueLaw) LeasesTellTheClock(s *scene) {
	sameTime(s, "admitted", s.hold(prompt(conversation("held"), "s1")).Now, s.db.Now())
	s.db.Advance(time.Second)
	s.admit(prompt(talk, "s1"))
	s.db.Advance(time.Second)
	c := s.claimAs(owner("one"), 10)
	sameTime(s, "claim", c.Now, s.db.Now())
	sameTime(s, "lease", c.Leases[0].Now, s.db.Now())
	s.db.Advance(time.Second)
	sameTime(s, "renewal", s.renew("one", c.Leases...).Now, s.db.Now())
	sameTime(s, "renewal of nothing", s.renew("one").Now, s.db.Now())
}

func (queueLaw) AdmissionMayNameItsTime(s *scene) {
	a := invocation(run(1))
	a.At = s.db.Now().Add(-3 * time.Second)
	sameTime(s, "receipt", s.admit(a).AdmittedAt, a.At)
	sameTime(s, "start", s.run(scope, run(1).ID).StartedAt, a.At)
}

func (queueLaw) RacingAdmissionsOfOneKeyAdmitOnce(s *scene) {
	const racers = 32
	receipts := make([]svc.Receipt, racers)
	race(racers, func(i int) {
		r, err := s.store.Admit(s.Context(), keyed(invocation(run(i)), "key", "body"))
		if err != nil {
			s.Error(err)
		}
		receipts[i] = r
	})
	replayed := 0
	for _, r := range receipts {
		equal(s, "stream", r.Stream, receipts[0].Stream)
		equal(s, "submission", r.Submission, receipts[0].Submission)
		if r.Replayed {
			replayed++
		}
	}
	equal(s, "replayed", replayed, racers-1)
	equal(s, "runs", len(s.runs(svc.RunQuery{Scope: scope, Limit: racers}).Runs), 1)
	equal(s, "claimed", s.claim("one").Stream, receipts[0].Stream)
}

func (queueLaw) ReplayGivesTheFirstReceipt(s *scene) {
	l := s.hold(prompt(talk, "s0"))
	s.append(l, batch(1, "x"))
	first := s.admit(keyed(prompt(talk, "s1"), "key", "body"))
	s.append(l, batch(1, "y"))
	s.db.Advance(time.Second)

	r := s.admit(wanting(keyed(prompt(talk, "s2"), "key", "body"), owner("one")))
	sameTime(s, "admitted", r.AdmittedAt, first.AdmittedAt)
	r.AdmittedAt = time.Time{}
	equal(s, "receipt", r, svc.Receipt{Stream: talk, Submission: "s1", Offset: 1, Replayed: true})
	equal(s, "queue", s.queue(talk), []string{"s0", "s1"})

	s.reopen()
	equal(s, "after reopening", s.admit(keyed(prompt(talk, "s3"), "key", "body")).Submission, "s1")
}

func (queueLaw) SameKeyWithAnotherBodyIsAConflict(s *scene) {
	s.admit(keyed(prompt(talk, "s1"), "key", "body"))
	for _, st := range []svc.Stream{talk, conversation("43")} {
		s.refused(errOf(s.store.Admit(s.Context(), keyed(prompt(st, "s2"), "key", "another body"))), svc.ErrConflict)
	}
	equal(s, "queue", s.queue(talk), []string{"s1"})
	s.noStream(conversation("43"))
}

func (queueLaw) SettlementBringsTheNextSubmission(s *scene) {
	l := twoPrompts(s)
	next := s.append(l, settled()).Next
	if next == nil {
		s.Fatal("no next submission")
	}
	equal(s, "next", next.ID, "s2")
	equal(s, "its place", next.Seq, 1)
	equal(s, "none behind", s.append(l, settled()).Next, nil)
}

func (queueLaw) ReplayAdmitsNothing(s *scene) {
	again := keyed(prompt(talk, "s2"), "key", "body")
	again.Replay = true
	s.refused(errOf(s.store.Admit(s.Context(), again)), svc.ErrNotFound)
	s.noStream(talk)
	s.admit(keyed(prompt(talk, "s1"), "key", "body"))
	receipt := s.admit(again)
	equal(s, "replayed", receipt.Replayed, true)
	equal(s, "first answer", receipt.Submission, "s1")
	equal(s, "queue", s.queue(talk), []string{"s1"})
}

func (queueLaw) SameKeyInAnotherScopeIsAnotherKey(s *scene) {
	s.admit(keyed(prompt(talk, "s1"), "key", "body"))
	r := s.admit(keyed(prompt(there, "s2"), "key", "another body"))
	equal(s, "replayed", r.Replayed, false)
	equal(s, "stream", r.Stream, there)
	equal(s, "queue", s.queue(there), []string{"s2"})
}

const day = 24 * time.Hour

func (queueLaw) KeyOutlivesSevenDaysWhileUnsettled(s *scene) {
	s.admit(keyed(prompt(talk, "s1"), "key", "body"))
	s.db.Advance(8 * day)
	equal(s, "replayed", s.admit(keyed(prompt(talk, "s2"), "key", "body")).Replayed, true)
	equal(s, "queue", s.queue(talk), []string{"s1"})
}

func (queueLaw) KeyEndsAfterSevenDaysOnceSettled(s *scene) {
	l := s.hold(keyed(prompt(talk, "s1"), "key", "body"))
	s.append(l, settled())
	s.db.Advance(6 * day)
	equal(s, "replayed on the sixth day", s.admit(keyed(prompt(talk, "s2"), "key", "body")).Replayed, true)
	s.db.Advance(2 * day)
	r := s.admit(keyed(prompt(talk, "s3"), "key", "another body"))
	equal(s, "replayed on the eighth day", r.Replayed, false)
	equal(s, "queue", s.queue(talk), []string{"s3"})
	equal(s, "replayed anew", s.admit(keyed(prompt(talk, "s4"), "key", "another body")).Submission, "s3")
}

// twoPrompts is a held conversation with a second submission behind the first.
func twoPrompts(s *scene) svc.Lease {
	s.Helper()
	l := s.hold(prompt(talk, "s1"))
	s.admit(prompt(talk, "s2"))
	return l
}

// marked is the ids of the unsettled submissions that are marked.
func (s *scene) marked(st svc.Stream) []string {
	s.Helper()
	var ids []string
	for _, sub := range s.submissions(st) {
		if sub.Aborted {
			ids = append(ids, sub.ID)
		}
	}
	return ids
}

func (queueLaw) AbortOfNothingIsFalse(s *scene) {
	equal(s, "unknown stream", s.abort(talk, ""), false)
	equal(s, "unknown stream and submission", s.abort(talk, "s1"), false)
	s.noStream(talk)
	s.admit(prompt(talk, "s1"))
	equal(s, "unknown submission", s.abort(talk, "s2"), false)
	equal(s, "marked", s.marked(talk), nil)
}

func (queueLaw) AbortMarksAll(s *scene) {
	twoPrompts(s)
	equal(s, "abort", s.abort(talk, ""), true)
	equal(s, "marked", s.marked(talk), []string{"s1", "s2"})
	equal(s, "tail", s.tail(talk).Aborted, true)
	// What is admitted later was not meant.
	s.admit(prompt(talk, "s3"))
	equal(s, "marked", s.marked(talk), []string{"s1", "s2"})
}

func (queueLaw) AbortMarksOne(s *scene) {
	twoPrompts(s)
	equal(s, "abort", s.abort(talk, "s1"), true)
	equal(s, "marked", s.marked(talk), []string{"s1"})
	equal(s, "tail", s.tail(talk).Aborted, true)
}

func (queueLaw) AbortTwiceIsOneMark(s *scene) {
	l := twoPrompts(s)
	equal(s, "first", s.abort(talk, "s1"), true)
	equal(s, "second", s.abort(talk, "s1"), true)
	equal(s, "all", s.abort(talk, ""), true)
	equal(s, "marked", s.marked(talk), []string{"s1", "s2"})
	s.append(l, settled())
	equal(s, "rest", s.marked(talk), []string{"s2"})
}

func (queueLaw) AbortOfSettledWorkIsFalse(s *scene) {
	l := twoPrompts(s)
	s.append(l, settled())
	equal(s, "settled", s.abort(talk, "s1"), false)
	equal(s, "marked", s.marked(talk), nil)
	s.append(l, settled())
	equal(s, "all settled", s.abort(talk, ""), false)
	s.admit(prompt(talk, "s3"))
	equal(s, "tail", s.tail(talk).Aborted, false)
}

func (queueLaw) MarkShowsAtTheHeadOnly(s *scene) {
	l := twoPrompts(s)
	s.abort(talk, "s2")
	equal(s, "tail", s.tail(talk).Aborted, false)
	equal(s, "running", s.append(l, batch(1, "x")).Aborted, false)
	s.append(l, settled())
	equal(s, "tail at its turn", s.tail(talk).Aborted, true)
	equal(s, "its turn", s.append(l, batch(1, "x")).Aborted, true)
	s.append(l, settled())
	equal(s, "tail when settled", s.tail(talk).Aborted, false)
}

func (queueLaw) ClaimTellsTheMark(s *scene) {
	s.admit(prompt(talk, "s1"), prompt(talk, "s2"))
	s.abort(talk, "s1")
	l := s.claim("one")
	equal(s, "submission", l.Submission.Aborted, true)
	equal(s, "tail", l.Tail.Aborted, true)
	s.append(l, settled())
	s.release(l, 0, "")
	l = s.claim("one")
	equal(s, "next submission", l.Submission.Aborted, false)
	equal(s, "next tail", l.Tail.Aborted, false)
}

func (queueLaw) MarkedStreamIsNotParked(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	s.abort(talk, "s1")
	s.release(l, time.Hour, "backoff")
	equal(s, "marked", s.claim("one").Submission.Aborted, true)
}

func (queueLaw) AbortWakesAParkedStream(s *scene) {
	for i, submission := range []string{"s1", ""} {
		st := conversation(fmt.Sprint(i))
		l := s.hold(prompt(st, "s1"))
		s.release(l, time.Hour, "backoff")
		s.claimNothing("one")
		s.abort(st, submission)
		l = s.claim("one")
		equal(s, "claimed", l.Stream, st)
		equal(s, "marked", l.Submission.Aborted, true)
	}
}

func (queueLaw) AbortBehindTheHeadLeavesTheStreamParked(s *scene) {
	l := twoPrompts(s)
	s.release(l, time.Hour, "backoff")
	equal(s, "abort", s.abort(talk, "s2"), true)
	s.claimNothing("one")
}

func (queueLaw) AbortsOfTwoScopesNeverMeet(s *scene) {
	s.admit(prompt(talk, "s1"))
	equal(s, "abort", s.abort(there, "s1"), false)
	s.admit(prompt(there, "s1"))
	equal(s, "abort", s.abort(there, ""), true)
	equal(s, "here", s.marked(talk), nil)
	equal(s, "there", s.marked(there), []string{"s1"})
}
