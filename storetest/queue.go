package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

var queueLaw = []sentence{
	submissionsAreWorkedInOrder,
	receiptNamesTheTailBeforeTheWork,
	admissionIsDurable,
	admittedInputComesBackByteForByte,
	racingFirstAdmissionsOpenOnce,
	timesComeFromTheClock,
	leasesTellTheClock,
	admissionMayNameItsTime,

	idleStreamGivesItsFirstLease,
	busyStreamGivesNoLease,
	sixteenClaimersClaimEachStreamOnce,
	longestWaitingIsClaimedFirst,
	claimGivesNoMoreThanAsked,
	claimedStreamIsNotClaimedAgain,
	onlyNamedWorkflowsAreClaimed,
	unregisteredWorkWaitsForAnOwner,
	workIsReadyThoughTheClockIsSetBack,
	workOfAnotherOwnerIsNotParked,
	workOfAnOwnerThatWasAwayIsItsAgain,
	cancelledRunIsEveryOwnersWork,
	inputIsFetchedWhenItIsWanted,
	epochGrowsWithEveryClaim,
	claimTellsTheTail,
	leasesTellWhatIsStored,
	queuesOfTwoScopesNeverMeet,

	staleLeaseCannotAppend,
	releasedLeaseCannotAppend,
	settledAndReleasedLeaseCannotAppend,
	closedStreamTakesNoAppend,
	closedStreamIsNotClaimed,
	commitShowsAllAtOnce,
	fencedCommitShowsNothing,
	settlingKeepsTheLeaseWhileMoreWaits,
	settlingWithoutReleaseKeepsTheLease,
	settledWorkIsNotClaimed,

	racingAdmissionsOfOneKeyAdmitOnce,
	replayGivesTheFirstReceipt,
	sameKeyWithAnotherBodyIsAConflict,
	sameKeyInAnotherScopeIsAnotherKey,
	replayAdmitsNothing,
	settlementBringsTheNextSubmission,
	keyOutlivesSevenDaysWhileUnsettled,
	keyEndsAfterSevenDaysOnceSettled,

	abortOfNothingIsFalse,
	abortMarksAll,
	abortMarksOne,
	abortTwiceIsOneMark,
	abortOfSettledWorkIsFalse,
	markShowsAtTheHeadOnly,
	claimTellsTheMark,
	abortWakesAParkedStream,
	markedStreamIsNotParked,
	abortBehindTheHeadLeavesTheStreamParked,
	abortsOfTwoScopesNeverMeet,

	parkedStreamWaitsForItsTime,
	parkingCountsNoAttempt,
	gracefulReleaseCountsNoAttempt,
	lapseCountsAnAttempt,
	failedWorkCountsAnAttempt,
	progressStartsTheAttemptsAgain,
	settlementStartsTheAttemptsAgain,
	settlementEndsTheReason,

	leaseOnOneNodeKnowsNoTime,
	expiredLeaseIsClaimedByAnother,
	expiredLeaseAppendsUntilAnotherClaims,
	ownerSetsTheTimeOfItsLeases,
	renewedLeaseOutlivesItsTime,
	renewalNamesTheLost,
	renewalNamesTheAborted,
	newBootVoidsTheLeasesOfItsNode,
}

func submissionsAreWorkedInOrder(s *scene) {
	st := conversation("42")
	for _, id := range []string{"s1", "s2", "s3"} {
		s.admit(prompt(st, id))
	}
	l := s.claim("one")
	equal(s, "first", l.Submission.ID, "s1")
	s.append(l, settled())
	equal(s, "queue", s.queue(st), []string{"s2", "s3"})
	s.release(l, 0, "")

	l = s.claim("one")
	equal(s, "second", l.Submission.ID, "s2")
	s.append(l, settled())
	s.append(l, settled())
	equal(s, "queue", s.queue(st), nil)
	s.claimNothing("one")
}

func receiptNamesTheTailBeforeTheWork(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	s.append(l, batch(1, "a"))
	s.append(l, batch(1, "b"))
	equal(s, "offset", s.admit(prompt(st, "s2")).Offset, 2)
	equal(s, "offset of a run", s.admit(invocation(run(1))).Offset, stream.Start)
}

func admissionIsDurable(s *scene) {
	s.admit(prompt(conversation("42"), "s1"))
	s.admit(invocation(run(1)))
	s.reopen()
	equal(s, "log", s.log(conversation("42")), []string{opening})
	equal(s, "queue", s.queue(conversation("42")), []string{"s1"})
	equal(s, "queue of the run", s.queue(run(1)), []string{run(1).ID})
	equal(s, "claimable", len(s.claimAs(owner("two"), 10).Leases), 2)
}

func admittedInputComesBackByteForByte(s *scene) {
	a := prompt(conversation("42"), "s1")
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
	input, err := s.store.Input(s.Context(), l, b)
	s.must(err)
	return input
}

// A node that claims much must not hold all of it in memory.
func inputIsFetchedWhenItIsWanted(s *scene) {
	st := conversation("42")
	for i, text := range []string{"first", "second"} {
		a := prompt(st, fmt.Sprintf("s%d", i+1))
		a.Input = []byte(text)
		s.admit(a)
	}
	l := s.claim("one")
	equal(s, "told of the first", [2]any{l.Submission.Input, l.Submission.Bytes}, [2]any{[]byte(nil), int64(5)})
	equal(s, "first", string(s.input(l, l.Submission)), "first")
	next := *s.append(l, settled()).Next
	equal(s, "told of the second", [2]any{next.Input, next.Bytes}, [2]any{[]byte(nil), int64(6)})
	equal(s, "second", string(s.input(l, next)), "second")
	s.must(s.store.Drop(s.Context(), st))
	_, err := s.store.Input(s.Context(), l, next)
	s.refused(err, svc.ErrFenced)
}

func racingFirstAdmissionsOpenOnce(s *scene) {
	const racers = 64
	st := conversation("42")
	race(racers, func(i int) {
		a := prompt(st, fmt.Sprintf("s%d", i))
		a.Opening = fmt.Appendf(nil, "opening %d", i)
		r, err := s.store.Admit(s.Context(), a)
		if err != nil || r.Offset != 0 {
			s.Errorf("receipt %+v, %v", r, err)
		}
	})
	rows := s.page(st, everything()).Batches
	equal(s, "rows", len(rows), 1)
	equal(s, "offset", rows[0].Last, 0)
	seen := map[string]bool{}
	for i, sub := range s.submissions(st) {
		equal(s, "seq", sub.Seq, int64(i))
		seen[sub.ID] = true
	}
	equal(s, "submissions", len(seen), racers)
}

func timesComeFromTheClock(s *scene) {
	s.db.Advance(1000 * time.Hour)
	admitted := s.db.Now()
	r := s.admit(invocation(run(1)))
	s.db.Advance(time.Minute)
	l := s.claim("one")
	c := settled()
	c.Close, c.Run = true, ended(l, workflow.Completed, s.db.Now())
	s.append(l, c)

	got := s.run(scope, run(1).ID)
	sameTime(s, "receipt", r.AdmittedAt, admitted)
	sameTime(s, "submission", l.Submission.AdmittedAt, admitted)
	sameTime(s, "start", got.StartedAt, admitted)
	sameTime(s, "batch", s.page(run(1), everything()).Batches[0].At, s.db.Now())
	sameTime(s, "end", got.EndedAt, s.db.Now())
}

func leasesTellTheClock(s *scene) {
	sameTime(s, "admitted", s.hold(prompt(conversation("held"), "s1")).Now, s.db.Now())
	s.db.Advance(time.Second)
	s.admit(prompt(conversation("42"), "s1"))
	s.db.Advance(time.Second)
	c := s.claimAs(owner("one"), 10)
	sameTime(s, "claim", c.Now, s.db.Now())
	sameTime(s, "lease", c.Leases[0].Now, s.db.Now())
	s.db.Advance(time.Second)
	sameTime(s, "renewal", s.renew("one", c.Leases...).Now, s.db.Now())
	sameTime(s, "renewal of nothing", s.renew("one").Now, s.db.Now())
}

func admissionMayNameItsTime(s *scene) {
	a := invocation(run(1))
	a.At = s.db.Now().Add(-3 * time.Second)
	sameTime(s, "receipt", s.admit(a).AdmittedAt, a.At)
	sameTime(s, "start", s.run(scope, run(1).ID).StartedAt, a.At)
}

// ended is the run of a lease as it ended.
func ended(l svc.Lease, status workflow.Status, at time.Time) *workflow.Run {
	return &workflow.Run{
		ID: l.Stream.ID, Scope: l.Stream.Scope, Workflow: l.Stream.Name, Status: status,
		StartedAt: l.Submission.AdmittedAt, EndedAt: at, Input: l.Submission.Input,
	}
}

func idleStreamGivesItsFirstLease(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	equal(s, "stream", l.Stream, st)
	equal(s, "submission", l.Submission.ID, "s1")
	equal(s, "attempts", l.Attempts, 0)
	equal(s, "interrupted", l.Interrupted, false)
	s.append(l, settled())

	l = s.hold(prompt(st, "s2"))
	equal(s, "next submission", l.Submission.ID, "s2")
	s.append(l, batch(1, "again"))
	equal(s, "log", s.log(st), []string{opening, "settled", "again"})
}

func busyStreamGivesNoLease(s *scene) {
	held, waiting, drained := conversation("held"), conversation("waiting"), conversation("drained")
	s.hold(prompt(held, "s1"))
	s.admit(prompt(waiting, "s1"))
	s.append(s.hold(prompt(drained, "s1")), svc.Commit{Settle: svc.OutcomeCompleted})
	for _, st := range []svc.Stream{held, waiting, drained} {
		r := s.admit(wanting(prompt(st, "s2"), owner("one")))
		if r.Lease != nil {
			s.Errorf("%s gave a lease", st.ID)
		}
	}
}

func sixteenClaimersClaimEachStreamOnce(s *scene) {
	const work = 200
	race(8, func(i int) {
		for n := i; n < work; n += 8 {
			if _, err := s.store.Admit(s.Context(), invocation(run(n))); err != nil {
				s.Error(err)
			}
		}
	})
	stores := []svc.Store{s.store}
	if s.db.Nodes() {
		stores = append(stores, s.db.Open(s.T))
	}
	var mu sync.Mutex
	claims := map[svc.Stream]int{}
	done := func() bool { mu.Lock(); defer mu.Unlock(); return len(claims) == work }
	// A claimer may find all that waits locked by others, so an empty answer is no end.
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	race(16, func(i int) {
		for !done() && ctx.Err() == nil {
			c, err := stores[i%len(stores)].Claim(s.Context(), owner(fmt.Sprint(i)), 3)
			if err != nil {
				s.Error(err)
				return
			}
			mu.Lock()
			for _, l := range c.Leases {
				claims[l.Stream]++
			}
			mu.Unlock()
		}
	})
	equal(s, "claimed", len(claims), work)
	for st, n := range claims {
		equal(s, "claims of "+st.ID, n, 1)
	}
	s.claimNothing("late")
}

func longestWaitingIsClaimedFirst(s *scene) {
	// Neither the age of a stream nor that of its last settlement counts, only how long its work waits.
	for _, id := range []string{"a", "b"} {
		s.append(s.hold(prompt(conversation(id), "s0")), settled())
		s.db.Advance(time.Second)
	}
	for _, id := range []string{"b", "c", "a"} {
		s.admit(prompt(conversation(id), "s1"))
		s.db.Advance(time.Second)
	}
	s.admit(prompt(conversation("b"), "s2"))
	for _, id := range []string{"b", "c", "a"} {
		c := s.claimAs(owner("one"), 1)
		equal(s, "claimed", streams(c.Leases), []svc.Stream{conversation(id)})
	}
}

func claimGivesNoMoreThanAsked(s *scene) {
	for i := range 5 {
		s.admit(invocation(run(i)))
	}
	equal(s, "asked for two", len(s.claimAs(owner("one"), 2).Leases), 2)
	equal(s, "asked for ten", len(s.claimAs(owner("one"), 10).Leases), 3)
}

func claimedStreamIsNotClaimedAgain(s *scene) {
	s.admit(prompt(conversation("42"), "s1"))
	s.claim("one")
	s.admit(prompt(conversation("42"), "s2"))
	s.claimNothing("one")
	s.claimNothing("two")
}

func onlyNamedWorkflowsAreClaimed(s *scene) {
	st := run(1)
	st.Name = "audit"
	s.admit(invocation(st))
	s.claimNothing("one")
	equal(s, "an owner without workflows", len(s.claimAs(svc.Owner{Agents: true, Node: "two", Boot: "b"}, 10).Leases), 0)

	// An agent is everybody's work, though a workflow has its name.
	talk := conversation("42")
	talk.Name = "audit"
	s.admit(prompt(talk, "s1"))
	equal(s, "agents", s.claim("one").Stream, talk)

	equal(s, "named", streams(s.claimAs(auditor("three"), 10).Leases), []svc.Stream{st})
}

// unregistered is a run that nobody can work who registered so far.
func unregistered(s *scene, n int) svc.Stream {
	s.Helper()
	st := run(n)
	st.Name = "audit"
	s.admit(invocation(st))
	return st
}

func auditor(node string) svc.Owner {
	return svc.Owner{Node: node, Boot: "b", Workflows: []string{"ledger", "audit"}}
}

func unregisteredWorkWaitsForAnOwner(s *scene) {
	st := unregistered(s, 1)
	s.claimNothing("one")
	subs := s.submissions(st)
	equal(s, "state", [2]string{subs[0].State, subs[0].Reason}, [2]string{svc.StateQueued, svc.ReasonNotRegistered})
	equal(s, "next", s.claimNothing("one").Next, 0)

	l := s.claimAs(auditor("two"), 10).Leases
	equal(s, "claimed", streams(l), []svc.Stream{st})
	equal(s, "before", before(l[0]), attempt{})

	// What is parked after a lapse keeps the interruption.
	s.lapse()
	s.db.Advance(time.Hour)
	s.claimNothing("one")
	l = s.claimAs(auditor("three"), 10).Leases
	equal(s, "claimed after a lapse", streams(l), []svc.Stream{st})
	equal(s, "interrupted", before(l[0]), attempt{1, true, ""})
}

// workIsReadyThoughTheClockIsSetBack lets another database, or an operator, set the clock back by an hour: what waits for a
// worker does not wait that hour, and no lease lasts as long. What waits for a time waits for it.
func workIsReadyThoughTheClockIsSetBack(s *scene) {
	s.claimNothing("two")
	s.admit(invocation(run(1)))
	asleep := s.claim("two")
	s.release(asleep, time.Minute, "sleep")
	s.admit(invocation(run(2)))
	s.hold(invocation(run(3)))
	s.db.Advance(-time.Hour)
	var found []svc.Stream
	look := func() {
		for range 2 { // the first finds out
			found = append(found, streams(s.claimAs(owner("two"), 10).Leases)...)
		}
	}
	look()
	equal(s, "claimed", found, []svc.Stream{run(2)})
	if s.db.Nodes() {
		found = nil
		s.db.Advance(45 * time.Second)
		look()
		equal(s, "claimed of another", slices.Contains(found, run(3)), true)
	}
}

func workOfAnotherOwnerIsNotParked(s *scene) {
	s.claimAs(auditor("two"), 10)
	st := unregistered(s, 1)
	s.claimNothing("one")
	equal(s, "reason", s.submissions(st)[0].Reason, "")
	equal(s, "claimed", streams(s.claimAs(auditor("two"), 10).Leases), []svc.Stream{st})
}

func workOfAnOwnerThatWasAwayIsItsAgain(s *scene) {
	s.claimAs(auditor("two"), 10)
	st := unregistered(s, 1)
	s.db.Advance(time.Hour)
	s.claimNothing("one")
	var l []svc.Lease
	s.eventually("the owner claims it", func() bool {
		l = s.claimAs(auditor("two"), 10).Leases
		return len(l) > 0
	})
	equal(s, "claimed", streams(l), []svc.Stream{st})
}

func cancelledRunIsEveryOwnersWork(s *scene) {
	st := unregistered(s, 1)
	s.claimNothing("one")
	equal(s, "abort", s.abort(st, ""), true)
	l := s.claim("one")
	equal(s, "claimed", l.Stream, st)
	equal(s, "marked", l.Submission.Aborted, true)
}

func epochGrowsWithEveryClaim(s *scene) {
	l := s.hold(prompt(conversation("42"), "s1"))
	for range 3 {
		s.release(l, 0, "")
		next := s.claim("one")
		if next.Epoch <= l.Epoch {
			s.Fatalf("epoch %d after %d", next.Epoch, l.Epoch)
		}
		l = next
	}
	s.lapse()
	if next := s.claim("two"); next.Epoch <= l.Epoch {
		s.Fatalf("epoch %d after %d and a lapse", next.Epoch, l.Epoch)
	}
}

func claimTellsTheTail(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	equal(s, "first lease", l.Tail, s.tail(st))
	open, context := stream.Offset(1), stream.Offset(0)
	s.append(l, svc.Commit{
		Data: []byte("x"), N: 1, OpenFrom: &open, ContextFrom: &context, Messages: []svc.Message{message("m1")},
	})
	s.append(l, batch(0, "private"))
	s.release(l, 0, "")
	equal(s, "claimed", s.claim("one").Tail, svc.Tail{Head: 1, Part: 1, OpenFrom: 1, Messages: 1})
}

// A node must know what a stream takes before it folds it.
func leasesTellWhatIsStored(s *scene) {
	st := conversation("42")
	first := s.hold(prompt(st, "s1"))
	equal(s, "admitted", first.Stored, int64(len(greeting)+len(opening)))
	s.append(first, svc.Commit{Data: []byte("batch"), N: 1, Messages: []svc.Message{{Kind: "message", ID: "m", Data: []byte("row")}}})
	s.release(first, 0, "")
	equal(s, "claimed", s.claim("one").Stored, first.Stored+int64(len("batch")+len("row")))
}

func queuesOfTwoScopesNeverMeet(s *scene) {
	here, there := conversation("42"), in("other", conversation("42"))
	l := s.hold(prompt(here, "s1"))
	s.admit(prompt(there, "s1"))
	s.append(l, settled())
	equal(s, "here", s.queue(here), nil)
	equal(s, "there", s.queue(there), []string{"s1"})
	equal(s, "claimed", s.claim("one").Stream, there)
	s.fenced(l)
}

func staleLeaseCannotAppend(s *scene) {
	st := conversation("42")
	s.admit(prompt(st, "s1"))
	stale := s.claim("one")
	s.lapse()
	l := s.claim("two")

	s.fenced(stale)
	equal(s, "log", s.log(st), []string{opening})
	equal(s, "queue", s.queue(st), []string{"s1"})
	s.append(l, batch(1, "mine"))
	equal(s, "log", s.log(st), []string{opening, "mine"})
}

func releasedLeaseCannotAppend(s *scene) {
	l := s.hold(prompt(conversation("42"), "s1"))
	s.release(l, 0, "")
	s.fenced(l)
	equal(s, "log", s.log(conversation("42")), []string{opening})

	l = s.claim("one")
	s.release(l, time.Hour, "backoff")
	s.fenced(l)
	equal(s, "queue", s.queue(conversation("42")), []string{"s1"})
}

func settledAndReleasedLeaseCannotAppend(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	a := s.append(l, settled())
	equal(s, "appended", a, svc.Appended{Head: 1, Released: true})
	s.fenced(l)
	// What comes later is not the old lease's to settle.
	s.admit(prompt(st, "s2"))
	s.fenced(l)
	equal(s, "queue", s.queue(st), []string{"s2"})
	equal(s, "log", s.log(st), []string{opening, "settled"})
}

func closedStreamTakesNoAppend(s *scene) {
	l := s.hold(invocation(run(1)))
	s.append(l, svc.Commit{Data: []byte("last"), N: 1, Settle: svc.OutcomeCompleted, Close: true})
	_, err := s.store.Append(s.Context(), l, batch(1, "later"))
	s.refused(err, svc.ErrFenced)
	equal(s, "log", s.log(run(1)), []string{"last"})
	equal(s, "closed", s.tail(run(1)).Closed, true)
}

func closedStreamIsNotClaimed(s *scene) {
	l := s.hold(invocation(run(1)))
	s.append(l, svc.Commit{Data: []byte("last"), N: 1, Settle: svc.OutcomeCompleted, Close: true})
	s.lapse()
	s.claimNothing("two")
}

// lastCommit is how a run ends.
func (s *scene) lastCommit(l svc.Lease) svc.Commit {
	c := settled()
	c.Close, c.Run = true, ended(l, workflow.Completed, s.db.Now())
	return c
}

func commitShowsAllAtOnce(s *scene) {
	for n := range 10 {
		l := s.hold(invocation(run(n)))
		s.seeAllOrNothing(l, s.lastCommit(l))
	}
}

// seeAllOrNothing ends a run and looks until it has ended: what one look shows, no later look may deny.
func (s *scene) seeAllOrNothing(l svc.Lease, last svc.Commit) {
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		if _, err := s.store.Append(s.Context(), l, last); err != nil {
			s.Error(err)
		}
	})
	for st, ended := l.Stream, false; !ended && !s.Failed(); {
		for i, look := range []func() bool{
			func() bool { return len(s.queue(st)) == 0 },
			func() bool { return s.tail(st).Closed },
			func() bool { return s.run(scope, st.ID).Ended() },
			func() bool { return len(s.log(st)) == 1 },
			func() bool { return s.tail(st).Closed },
			func() bool { return len(s.queue(st)) == 0 },
		} {
			now := look()
			if ended && !now {
				s.Errorf("look %d does not show what an earlier one did", i)
			}
			ended = now
		}
	}
}

func fencedCommitShowsNothing(s *scene) {
	stale := s.hold(invocation(run(1)))
	s.lapse()
	s.claim("two")
	c := s.lastCommit(stale)
	open := stream.Offset(0)
	c.Messages, c.OpenFrom, c.ContextFrom = []svc.Message{message("m1")}, &open, &open
	_, err := s.store.Append(s.Context(), stale, c)
	s.refused(err, svc.ErrFenced)

	equal(s, "tail", s.tail(run(1)), svc.Tail{Head: -1, OpenFrom: -1, ContextFrom: -1})
	equal(s, "log", s.log(run(1)), nil)
	equal(s, "queue", s.queue(run(1)), []string{run(1).ID})
	equal(s, "status", s.run(scope, run(1).ID).Status, workflow.Active)
	equal(s, "messages", len(s.page(run(1), messages()).Messages), 0)
}

func settlingKeepsTheLeaseWhileMoreWaits(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	s.admit(prompt(st, "s2"))
	first := s.append(l, settled())
	first.Next = nil
	equal(s, "first", first, svc.Appended{Head: 1, Waiting: true})
	equal(s, "second", s.append(l, settled()), svc.Appended{Head: 2, Released: true})
	equal(s, "queue", s.queue(st), nil)
}

func settlingWithoutReleaseKeepsTheLease(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	c := settled()
	c.Release = false
	equal(s, "appended", s.append(l, c), svc.Appended{Head: 1})
	s.append(l, batch(1, "after"))
	s.release(l, 0, "")
	s.claimNothing("one")
}

func settledWorkIsNotClaimed(s *scene) {
	for i, outcome := range []svc.Outcome{svc.OutcomeCompleted, svc.OutcomeFailed, svc.OutcomeAborted} {
		st := conversation(fmt.Sprint(i))
		l := s.hold(prompt(st, "s1"))
		c := settled()
		c.Settle = outcome
		s.append(l, c)
		equal(s, "queue", s.queue(st), nil)
	}
	s.lapse()
	s.claimNothing("two")
}

func racingAdmissionsOfOneKeyAdmitOnce(s *scene) {
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

func replayGivesTheFirstReceipt(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s0"))
	s.append(l, batch(1, "x"))
	first := s.admit(keyed(prompt(st, "s1"), "key", "body"))
	s.append(l, batch(1, "y"))
	s.db.Advance(time.Second)

	r := s.admit(wanting(keyed(prompt(st, "s2"), "key", "body"), owner("one")))
	sameTime(s, "admitted", r.AdmittedAt, first.AdmittedAt)
	r.AdmittedAt = time.Time{}
	equal(s, "receipt", r, svc.Receipt{Stream: st, Submission: "s1", Offset: 1, Replayed: true})
	equal(s, "queue", s.queue(st), []string{"s0", "s1"})

	s.reopen()
	equal(s, "after reopening", s.admit(keyed(prompt(st, "s3"), "key", "body")).Submission, "s1")
}

func sameKeyWithAnotherBodyIsAConflict(s *scene) {
	s.admit(keyed(prompt(conversation("42"), "s1"), "key", "body"))
	for _, st := range []svc.Stream{conversation("42"), conversation("43")} {
		_, err := s.store.Admit(s.Context(), keyed(prompt(st, "s2"), "key", "another body"))
		s.refused(err, svc.ErrConflict)
	}
	equal(s, "queue", s.queue(conversation("42")), []string{"s1"})
	s.noStream(conversation("43"))
}

func settlementBringsTheNextSubmission(s *scene) {
	l := s.hold(prompt(conversation("42"), "s1"))
	s.admit(prompt(conversation("42"), "s2"))
	a, err := s.store.Append(s.Context(), l, svc.Commit{Data: []byte("x"), N: 1, Settle: svc.OutcomeCompleted, Release: true})
	s.must(err)
	if a.Next == nil {
		s.Fatal("no next submission")
	}
	equal(s, "next", a.Next.ID, "s2")
	equal(s, "its place", a.Next.Seq, 1)
	a, err = s.store.Append(s.Context(), l, svc.Commit{Data: []byte("y"), N: 1, Settle: svc.OutcomeCompleted, Release: true})
	s.must(err)
	equal(s, "none behind", a.Next == nil, true)
}

func replayAdmitsNothing(s *scene) {
	again := keyed(prompt(conversation("42"), "s2"), "key", "body")
	again.Replay = true
	_, err := s.store.Admit(s.Context(), again)
	s.refused(err, svc.ErrNotFound)
	s.noStream(conversation("42"))
	s.admit(keyed(prompt(conversation("42"), "s1"), "key", "body"))
	receipt, err := s.store.Admit(s.Context(), again)
	s.must(err)
	equal(s, "replayed", receipt.Replayed, true)
	equal(s, "first answer", receipt.Submission, "s1")
	equal(s, "queue", s.queue(conversation("42")), []string{"s1"})
}

func sameKeyInAnotherScopeIsAnotherKey(s *scene) {
	there := in("other", conversation("42"))
	s.admit(keyed(prompt(conversation("42"), "s1"), "key", "body"))
	r := s.admit(keyed(prompt(there, "s2"), "key", "another body"))
	equal(s, "replayed", r.Replayed, false)
	equal(s, "stream", r.Stream, there)
	equal(s, "queue", s.queue(there), []string{"s2"})
}

const day = 24 * time.Hour

func keyOutlivesSevenDaysWhileUnsettled(s *scene) {
	st := conversation("42")
	s.admit(keyed(prompt(st, "s1"), "key", "body"))
	s.db.Advance(8 * day)
	equal(s, "replayed", s.admit(keyed(prompt(st, "s2"), "key", "body")).Replayed, true)
	equal(s, "queue", s.queue(st), []string{"s1"})
}

func keyEndsAfterSevenDaysOnceSettled(s *scene) {
	st := conversation("42")
	l := s.hold(keyed(prompt(st, "s1"), "key", "body"))
	s.append(l, settled())
	s.db.Advance(6 * day)
	equal(s, "replayed on the sixth day", s.admit(keyed(prompt(st, "s2"), "key", "body")).Replayed, true)
	s.db.Advance(2 * day)
	r := s.admit(keyed(prompt(st, "s3"), "key", "another body"))
	equal(s, "replayed on the eighth day", r.Replayed, false)
	equal(s, "queue", s.queue(st), []string{"s3"})
	equal(s, "replayed anew", s.admit(keyed(prompt(st, "s4"), "key", "another body")).Submission, "s3")
}

// twoPrompts is a held conversation with a second submission behind the first.
func twoPrompts(s *scene) (svc.Stream, svc.Lease) {
	s.Helper()
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	s.admit(prompt(st, "s2"))
	return st, l
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

func abortOfNothingIsFalse(s *scene) {
	equal(s, "unknown stream", s.abort(conversation("42"), ""), false)
	equal(s, "unknown stream and submission", s.abort(conversation("42"), "s1"), false)
	s.noStream(conversation("42"))
	s.admit(prompt(conversation("42"), "s1"))
	equal(s, "unknown submission", s.abort(conversation("42"), "s2"), false)
	equal(s, "marked", s.marked(conversation("42")), nil)
}

func abortMarksAll(s *scene) {
	st, _ := twoPrompts(s)
	equal(s, "abort", s.abort(st, ""), true)
	equal(s, "marked", s.marked(st), []string{"s1", "s2"})
	equal(s, "tail", s.tail(st).Aborted, true)
	// What is admitted later was not meant.
	s.admit(prompt(st, "s3"))
	equal(s, "marked", s.marked(st), []string{"s1", "s2"})
}

func abortMarksOne(s *scene) {
	st, _ := twoPrompts(s)
	equal(s, "abort", s.abort(st, "s1"), true)
	equal(s, "marked", s.marked(st), []string{"s1"})
	equal(s, "tail", s.tail(st).Aborted, true)
}

func abortTwiceIsOneMark(s *scene) {
	st, l := twoPrompts(s)
	equal(s, "first", s.abort(st, "s1"), true)
	equal(s, "second", s.abort(st, "s1"), true)
	equal(s, "all", s.abort(st, ""), true)
	equal(s, "marked", s.marked(st), []string{"s1", "s2"})
	s.append(l, settled())
	equal(s, "rest", s.marked(st), []string{"s2"})
}

func abortOfSettledWorkIsFalse(s *scene) {
	st, l := twoPrompts(s)
	s.append(l, settled())
	equal(s, "settled", s.abort(st, "s1"), false)
	equal(s, "marked", s.marked(st), nil)
	s.append(l, settled())
	equal(s, "all settled", s.abort(st, ""), false)
	s.admit(prompt(st, "s3"))
	equal(s, "tail", s.tail(st).Aborted, false)
}

func markShowsAtTheHeadOnly(s *scene) {
	st, l := twoPrompts(s)
	s.abort(st, "s2")
	equal(s, "tail", s.tail(st).Aborted, false)
	equal(s, "running", s.append(l, batch(1, "x")).Aborted, false)
	s.append(l, settled())
	equal(s, "tail at its turn", s.tail(st).Aborted, true)
	equal(s, "its turn", s.append(l, batch(1, "x")).Aborted, true)
	s.append(l, settled())
	equal(s, "tail when settled", s.tail(st).Aborted, false)
}

func claimTellsTheMark(s *scene) {
	st := conversation("42")
	s.admit(prompt(st, "s1"))
	s.admit(prompt(st, "s2"))
	s.abort(st, "s1")
	l := s.claim("one")
	equal(s, "submission", l.Submission.Aborted, true)
	equal(s, "tail", l.Tail.Aborted, true)
	s.append(l, settled())
	s.release(l, 0, "")
	l = s.claim("one")
	equal(s, "next submission", l.Submission.Aborted, false)
	equal(s, "next tail", l.Tail.Aborted, false)
}

func markedStreamIsNotParked(s *scene) {
	st := conversation("42")
	l := s.hold(prompt(st, "s1"))
	s.abort(st, "s1")
	s.release(l, time.Hour, "backoff")
	equal(s, "marked", s.claim("one").Submission.Aborted, true)
}

func abortWakesAParkedStream(s *scene) {
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

func abortBehindTheHeadLeavesTheStreamParked(s *scene) {
	st, l := twoPrompts(s)
	s.release(l, time.Hour, "backoff")
	equal(s, "abort", s.abort(st, "s2"), true)
	s.claimNothing("one")
}

func abortsOfTwoScopesNeverMeet(s *scene) {
	here, there := conversation("42"), in("other", conversation("42"))
	s.admit(prompt(here, "s1"))
	equal(s, "abort", s.abort(there, "s1"), false)
	s.admit(prompt(there, "s1"))
	equal(s, "abort", s.abort(there, ""), true)
	equal(s, "here", s.marked(here), nil)
	equal(s, "there", s.marked(there), []string{"s1"})
}

func parkedStreamWaitsForItsTime(s *scene) {
	l := s.hold(prompt(conversation("42"), "s1"))
	s.release(l, time.Minute, "backoff")
	equal(s, "next", s.claimNothing("one").Next, time.Minute)
	s.db.Advance(59 * time.Second)
	equal(s, "next", s.claimNothing("one").Next, time.Second)

	s.db.Advance(time.Second)
	c := s.claimAs(owner("one"), 10)
	equal(s, "claimed", len(c.Leases), 1)
	equal(s, "reason", c.Leases[0].Reason, "backoff")
	equal(s, "none parked", s.claimNothing("one").Next, 0)
}

// attempt is what a lease tells of the one before.
type attempt struct {
	Attempts    int
	Interrupted bool
	Reason      string
}

func before(l svc.Lease) attempt { return attempt{l.Attempts, l.Interrupted, l.Reason} }

// interrupted is a held conversation whose lease before lapsed.
func interrupted(s *scene) (svc.Stream, svc.Lease) {
	s.Helper()
	st := conversation("42")
	s.hold(prompt(st, "s1"))
	s.lapse()
	l := s.claim("two")
	equal(s, "after the lapse", before(l), attempt{1, true, ""})
	return st, l
}

func parkingCountsNoAttempt(s *scene) {
	_, l := interrupted(s)
	s.release(l, time.Second, "timer")
	s.db.Advance(time.Second)
	equal(s, "after parking", before(s.claim("two")), attempt{1, false, "timer"})
	s.lapse()
	equal(s, "after a lapse", before(s.claim("three")), attempt{2, true, ""})
}

func gracefulReleaseCountsNoAttempt(s *scene) {
	_, l := interrupted(s)
	s.release(l, 0, "")
	l = s.claim("two")
	equal(s, "after a release", before(l), attempt{1, false, ""})
	s.release(l, 0, "draining")
	l = s.claim("two")
	equal(s, "after a release with a reason", before(l), attempt{1, false, "draining"})
	s.lapse()
	equal(s, "after a lapse", before(s.claim("three")), attempt{2, true, ""})
}

func lapseCountsAnAttempt(s *scene) {
	s.admit(prompt(conversation("42"), "s1"))
	equal(s, "first claim", before(s.claim("one")), attempt{})
	for n := 1; n <= 3; n++ {
		s.lapse()
		equal(s, "after a lapse", before(s.claim(fmt.Sprintf("node %d", n))), attempt{n, true, ""})
	}
}

func failedWorkCountsAnAttempt(s *scene) {
	_, l := interrupted(s)
	s.must(s.store.Release(s.Context(), l, svc.Release{After: time.Second, Reason: "broken", Failed: true}))
	s.claimNothing("two")
	s.db.Advance(time.Second)
	equal(s, "after a failure", before(s.claim("two")), attempt{2, false, "broken"})
}

func progressStartsTheAttemptsAgain(s *scene) {
	_, l := interrupted(s)
	s.append(l, batch(1, "no progress"))
	s.lapse()
	l = s.claim("three")
	equal(s, "without progress", before(l), attempt{2, true, ""})
	c := batch(1, "a recorded result")
	c.Progress = true
	s.append(l, c)
	s.lapse()
	l = s.claim("four")
	equal(s, "after progress and a lapse", before(l), attempt{1, true, ""})
	s.append(l, svc.Commit{Progress: true})
	s.release(l, 0, "")
	equal(s, "after progress and a release", before(s.claim("four")), attempt{})
}

func settlementStartsTheAttemptsAgain(s *scene) {
	st, l := interrupted(s)
	s.admit(prompt(st, "s2"))
	s.append(l, settled())
	s.lapse()
	l = s.claim("three")
	equal(s, "submission", l.Submission.ID, "s2")
	equal(s, "attempts", l.Attempts, 1)
	s.append(l, settled())
	equal(s, "next", before(s.hold(prompt(st, "s3"))), attempt{})
}

func settlementEndsTheReason(s *scene) {
	st := conversation("42")
	s.release(s.hold(prompt(st, "s1")), 0, "draining")
	l := s.claim("one")
	equal(s, "reason", l.Reason, "draining")
	s.append(l, settled())
	equal(s, "next", before(s.hold(prompt(st, "s2"))), attempt{})
}

func leaseOnOneNodeKnowsNoTime(s *scene) {
	if s.db.Nodes() {
		s.Skip("several nodes")
	}
	l := s.hold(prompt(conversation("42"), "s1"))
	s.db.Advance(24 * time.Hour)
	s.claimNothing("one")
	s.append(l, batch(1, "still mine"))
	s.reopen()
	s.fenced(l)
}

func expiredLeaseIsClaimedByAnother(s *scene) {
	s.onlyNodes()
	l := s.hold(prompt(conversation("42"), "s1"))
	s.db.Advance(defaultLease - time.Second)
	s.claimNothing("two")
	s.db.Advance(2 * time.Second)
	equal(s, "taken over", s.claim("two").Stream, l.Stream)
	s.fenced(l)
}

func expiredLeaseAppendsUntilAnotherClaims(s *scene) {
	s.onlyNodes()
	l := s.hold(prompt(conversation("42"), "s1"))
	s.db.Advance(time.Hour)
	s.append(l, batch(1, "still mine"))
}

func ownerSetsTheTimeOfItsLeases(s *scene) {
	s.onlyNodes()
	o := owner("one")
	o.Lease = time.Minute
	s.admit(wanting(prompt(conversation("admitted"), "s1"), o))
	s.admit(prompt(conversation("claimed"), "s1"))
	equal(s, "claimed", len(s.claimAs(o, 10).Leases), 1)
	s.db.Advance(59 * time.Second)
	s.claimNothing("two")
	s.db.Advance(2 * time.Second)
	equal(s, "taken over", len(s.claimAs(owner("two"), 10).Leases), 2)
}

func (s *scene) renew(node string, held ...svc.Lease) svc.Renewed {
	s.Helper()
	r, err := s.store.Renew(s.Context(), owner(node), held)
	s.must(err)
	return r
}

func renewedLeaseOutlivesItsTime(s *scene) {
	s.onlyNodes()
	l := s.hold(prompt(conversation("42"), "s1"))
	for range 5 {
		s.db.Advance(6 * time.Second)
		equal(s, "lost", streams(s.renew("one", l).Lost), nil)
		s.claimNothing("two")
	}
	s.append(l, batch(1, "still mine"))
	s.db.Advance(defaultLease + time.Second)
	s.claim("two")
}

func renewalNamesTheLost(s *scene) {
	released, parked, settledOne := s.hold(invocation(run(1))), s.hold(invocation(run(2))), s.hold(invocation(run(3)))
	kept := s.hold(invocation(run(4)))
	s.release(released, 0, "")
	s.release(parked, time.Hour, "backoff")
	s.append(settledOne, settled())
	lost := streams(s.renew("one", released, kept, parked, settledOne).Lost)
	slices.SortFunc(lost, func(a, b svc.Stream) int { return strings.Compare(a.ID, b.ID) })
	equal(s, "lost", lost, []svc.Stream{run(1), run(2), run(3)})

	s.lapse()
	c := s.claimAs(owner("two"), 10)
	equal(s, "taken over", len(c.Leases), 2)
	equal(s, "lost to another", streams(s.renew("one", kept).Lost), []svc.Stream{run(4)})
	equal(s, "the other's", streams(s.renew("two", c.Leases...).Lost), nil)
}

func renewalNamesTheAborted(s *scene) {
	one, two := s.hold(invocation(run(1))), s.hold(invocation(run(2)))
	st, talk := twoPrompts(s)
	s.abort(run(1), "")
	s.abort(st, "s2")
	r := s.renew("one", one, two, talk)
	equal(s, "lost", streams(r.Lost), nil)
	equal(s, "aborted", streams(r.Aborted), []svc.Stream{run(1)})
}

func newBootVoidsTheLeasesOfItsNode(s *scene) {
	s.onlyNodes()
	mine := s.hold(invocation(run(1)))
	s.admit(invocation(run(2)))
	others := s.claim("two")

	restarted := owner("one")
	restarted.Boot = "one-boot-2"
	c := s.claimAs(restarted, 10)
	equal(s, "claimed", streams(c.Leases), []svc.Stream{run(1)})
	equal(s, "before", before(c.Leases[0]), attempt{1, true, ""})
	s.fenced(mine)
	s.append(others, batch(1, "still mine"))
	equal(s, "nothing voided twice", len(s.claimAs(restarted, 10).Leases), 0)
}
