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

// leaseLaw is who may work on a stream, and how long.
type leaseLaw struct{}

// A node that claims much must not hold all of it in memory.
func (leaseLaw) InputIsFetchedWhenItIsWanted(s *scene) {
	for i, text := range []string{"first", "second"} {
		a := prompt(talk, fmt.Sprintf("s%d", i+1))
		a.Input = []byte(text)
		s.admit(a)
	}
	l := s.claim("one")
	equal(s, "told of the first", [2]any{l.Submission.Input, l.Submission.Bytes}, [2]any{[]byte(nil), int64(5)})
	equal(s, "first", string(s.input(l, l.Submission)), "first")
	next := *s.append(l, settled()).Next
	equal(s, "told of the second", [2]any{next.Input, next.Bytes}, [2]any{[]byte(nil), int64(6)})
	equal(s, "second", string(s.input(l, next)), "second")
	s.drop(talk)
	s.refused(errOf(s.store.Input(s.Context(), l, next)), svc.ErrFenced)
}

func (leaseLaw) IdleStreamGivesItsFirstLease(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	equal(s, "stream", l.Stream, talk)
	equal(s, "submission", l.Submission.ID, "s1")
	equal(s, "attempts", l.Attempts, 0)
	equal(s, "interrupted", l.Interrupted, false)
	s.append(l, settled())

	l = s.hold(prompt(talk, "s2"))
	equal(s, "next submission", l.Submission.ID, "s2")
	s.append(l, batch(1, "again"))
	equal(s, "log", s.log(talk), []string{opening, "settled", "again"})
}

func (leaseLaw) BusyStreamGivesNoLease(s *scene) {
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

func (leaseLaw) SixteenClaimersClaimEachStreamOnce(s *scene) {
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

func (leaseLaw) LongestWaitingIsClaimedFirst(s *scene) {
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

func (leaseLaw) ClaimGivesNoMoreThanAsked(s *scene) {
	for i := range 5 {
		s.admit(invocation(run(i)))
	}
	equal(s, "asked for two", len(s.claimAs(owner("one"), 2).Leases), 2)
	equal(s, "asked for ten", len(s.claimAs(owner("one"), 10).Leases), 3)
}

func (leaseLaw) ClaimedStreamIsNotClaimedAgain(s *scene) {
	s.admit(prompt(talk, "s1"))
	s.claim("one")
	s.admit(prompt(talk, "s2"))
	s.claimNothing("one")
	s.claimNothing("two")
}

func (leaseLaw) OnlyNamedWorkflowsAreClaimed(s *scene) {
	st := unregistered(s)
	s.claimNothing("one")
	equal(s, "an owner without workflows", len(s.claimAs(svc.Owner{Agents: true, Node: "two", Boot: "b"}, 10).Leases), 0)

	// An agent is everybody's work, though a workflow has its name.
	namesake := talk
	namesake.Name = "audit"
	s.admit(prompt(namesake, "s1"))
	equal(s, "agents", s.claim("one").Stream, namesake)

	equal(s, "named", streams(s.claimAs(auditor("three"), 10).Leases), []svc.Stream{st})
}

// unregistered is a run that nobody can work who registered so far.
func unregistered(s *scene) svc.Stream {
	s.Helper()
	st := run(1)
	st.Name = "audit"
	s.admit(invocation(st))
	return st
}

func auditor(node string) svc.Owner {
	return svc.Owner{Node: node, Boot: "b", Workflows: []string{"ledger", "audit"}}
}

func (leaseLaw) UnregisteredWorkWaitsForAnOwner(s *scene) {
	st := unregistered(s)
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

// AnOwnerWithoutWorkflowsParksWhatNobodyCanDo has a process register that only talks: runs are nobody's, and wait for one that
// can do them.
func (leaseLaw) AnOwnerWithoutWorkflowsParksWhatNobodyCanDo(s *scene) {
	st := unregistered(s)
	for _, workflows := range [][]string{nil, {}} {
		talks := svc.Owner{Node: "one", Boot: "b", Workflows: workflows, Agents: true}
		equal(s, "claimed by one who cannot", streams(s.claimAs(talks, 10).Leases), nil)
		equal(s, "reason", s.submissions(st)[0].Reason, svc.ReasonNotRegistered)
	}
	equal(s, "claimed", streams(s.claimAs(auditor("two"), 10).Leases), []svc.Stream{st})
}

// WorkIsReadyThoughTheClockIsSetBack lets another database, or an operator, set the clock back by an hour: what waits for a
// worker does not wait that hour, and no lease lasts as long. What waits for a time waits for it.
func (leaseLaw) WorkIsReadyThoughTheClockIsSetBack(s *scene) {
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

func (leaseLaw) WorkOfAnotherOwnerIsNotParked(s *scene) {
	s.claimAs(auditor("two"), 10)
	st := unregistered(s)
	s.claimNothing("one")
	equal(s, "reason", s.submissions(st)[0].Reason, "")
	equal(s, "claimed", streams(s.claimAs(auditor("two"), 10).Leases), []svc.Stream{st})
}

func (leaseLaw) WorkOfAnOwnerThatWasAwayIsItsAgain(s *scene) {
	s.claimAs(auditor("two"), 10)
	st := unregistered(s)
	s.db.Advance(time.Hour)
	s.claimNothing("one")
	var l []svc.Lease
	s.eventually("the owner claims it", func() bool {
		l = s.claimAs(auditor("two"), 10).Leases
		return len(l) > 0
	})
	equal(s, "claimed", streams(l), []svc.Stream{st})
}

func (leaseLaw) CancelledRunIsEveryOwnersWork(s *scene) {
	st := unregistered(s)
	s.claimNothing("one")
	equal(s, "abort", s.abort(st, ""), true)
	l := s.claim("one")
	equal(s, "claimed", l.Stream, st)
	equal(s, "marked", l.Submission.Aborted, true)
}

func (leaseLaw) EpochGrowsWithEveryClaim(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	for range 3 {
		s.release(l, 0, "")
		next := s.claim("one")
		if next.Epoch <= l.Epoch {
			s.Fatalf("epoch %d after %d", next.Epoch, l.Epoch)
		}
		l = next
	}
	if next := s.takeOver("two"); next.Epoch <= l.Epoch {
		s.Fatalf("epoch %d after %d and a lapse", next.Epoch, l.Epoch)
	}
}

func (leaseLaw) ClaimTellsTheTail(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	equal(s, "first lease", l.Tail, s.tail(talk))
	open, context := stream.Offset(1), stream.Offset(0)
	s.append(l, svc.Commit{
		Data: []byte("x"), N: 1, OpenFrom: &open, ContextFrom: &context, Messages: []svc.Message{message("m1")},
	})
	s.append(l, batch(0, "private"))
	s.release(l, 0, "")
	equal(s, "claimed", s.claim("one").Tail, svc.Tail{Head: 1, Part: 1, OpenFrom: 1, Messages: 1})
}

// A node must know what a stream takes before it folds it.
func (leaseLaw) LeasesTellWhatIsStored(s *scene) {
	first := s.hold(prompt(talk, "s1"))
	equal(s, "admitted", first.Stored, int64(len(greeting)+len(opening)))
	s.append(first, svc.Commit{Data: []byte("batch"), N: 1, Messages: []svc.Message{{Kind: "message", ID: "m", Data: []byte("row")}}})
	s.release(first, 0, "")
	equal(s, "claimed", s.claim("one").Stored, first.Stored+int64(len("batch")+len("row")))
}

func (leaseLaw) QueuesOfTwoScopesNeverMeet(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	s.admit(prompt(there, "s1"))
	s.append(l, settled())
	equal(s, "here", s.queue(talk), nil)
	equal(s, "there", s.queue(there), []string{"s1"})
	equal(s, "claimed", s.claim("one").Stream, there)
	s.fenced(l)
}

func (leaseLaw) StaleLeaseCannotAppend(s *scene) {
	s.admit(prompt(talk, "s1"))
	stale, l := s.claim("one"), s.takeOver("two")

	s.fenced(stale)
	equal(s, "log", s.log(talk), []string{opening})
	equal(s, "queue", s.queue(talk), []string{"s1"})
	s.append(l, batch(1, "mine"))
	equal(s, "log", s.log(talk), []string{opening, "mine"})
}

func (leaseLaw) ReleasedLeaseCannotAppend(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	s.release(l, 0, "")
	s.fenced(l)
	equal(s, "log", s.log(talk), []string{opening})

	l = s.claim("one")
	s.release(l, time.Hour, "backoff")
	s.fenced(l)
	equal(s, "queue", s.queue(talk), []string{"s1"})
}

func (leaseLaw) SettledAndReleasedLeaseCannotAppend(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	a := s.append(l, settled())
	equal(s, "appended", a, svc.Appended{Head: 1, Released: true})
	s.fenced(l)
	// What comes later is not the old lease's to settle.
	s.admit(prompt(talk, "s2"))
	s.fenced(l)
	equal(s, "queue", s.queue(talk), []string{"s2"})
	equal(s, "log", s.log(talk), []string{opening, "settled"})
}

func (leaseLaw) ClosedStreamTakesNoAppend(s *scene) {
	l := s.hold(invocation(run(1)))
	s.append(l, svc.Commit{Data: []byte("last"), N: 1, Settle: svc.OutcomeCompleted, Close: true})
	s.refused(errOf(s.store.Append(s.Context(), l, batch(1, "later"))), svc.ErrFenced)
	equal(s, "log", s.log(run(1)), []string{"last"})
	equal(s, "closed", s.tail(run(1)).Closed, true)
}

func (leaseLaw) ClosedStreamIsNotClaimed(s *scene) {
	l := s.hold(invocation(run(1)))
	s.append(l, svc.Commit{Data: []byte("last"), N: 1, Settle: svc.OutcomeCompleted, Close: true})
	s.lapse()
	s.claimNothing("two")
}

// lastCommit is how a run ends.
func (s *scene) lastCommit(l svc.Lease) svc.Commit {
	c := settled()
	c.Close, c.Run = true, &workflow.Run{
		ID: l.Stream.ID, Scope: l.Stream.Scope, Workflow: l.Stream.Name, Status: workflow.Completed,
		StartedAt: l.Submission.AdmittedAt, EndedAt: s.db.Now(), Input: l.Submission.Input,
	}
	return c
}

func (leaseLaw) CommitShowsAllAtOnce(s *scene) {
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

func (leaseLaw) FencedCommitShowsNothing(s *scene) {
	stale := s.hold(invocation(run(1)))
	s.takeOver("two")
	c := s.lastCommit(stale)
	open := stream.Offset(0)
	c.Messages, c.OpenFrom, c.ContextFrom = []svc.Message{message("m1")}, &open, &open
	s.refused(errOf(s.store.Append(s.Context(), stale, c)), svc.ErrFenced)

	equal(s, "tail", s.tail(run(1)), svc.Tail{Head: -1, OpenFrom: -1, ContextFrom: -1})
	equal(s, "log", s.log(run(1)), nil)
	equal(s, "queue", s.queue(run(1)), []string{run(1).ID})
	equal(s, "status", s.run(scope, run(1).ID).Status, workflow.Active)
	equal(s, "messages", len(s.page(run(1), messages()).Messages), 0)
}

func (leaseLaw) SettlingKeepsTheLeaseWhileMoreWaits(s *scene) {
	l := twoPrompts(s)
	first := s.append(l, settled())
	first.Next = nil
	equal(s, "first", first, svc.Appended{Head: 1, Waiting: true})
	equal(s, "second", s.append(l, settled()), svc.Appended{Head: 2, Released: true})
	equal(s, "queue", s.queue(talk), nil)
}

func (leaseLaw) SettlingWithoutReleaseKeepsTheLease(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	c := settled()
	c.Release = false
	equal(s, "appended", s.append(l, c), svc.Appended{Head: 1})
	s.append(l, batch(1, "after"))
	s.release(l, 0, "")
	s.claimNothing("one")
}

func (leaseLaw) SettledWorkIsNotClaimed(s *scene) {
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

func (leaseLaw) ParkedStreamWaitsForItsTime(s *scene) {
	l := s.hold(prompt(talk, "s1"))
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
func interrupted(s *scene) svc.Lease {
	s.Helper()
	s.hold(prompt(talk, "s1"))
	l := s.takeOver("two")
	equal(s, "after the lapse", before(l), attempt{1, true, ""})
	return l
}

func (leaseLaw) ParkingCountsNoAttempt(s *scene) {
	l := interrupted(s)
	s.release(l, time.Second, "timer")
	s.db.Advance(time.Second)
	equal(s, "after parking", before(s.claim("two")), attempt{1, false, "timer"})
	equal(s, "after a lapse", before(s.takeOver("three")), attempt{2, true, ""})
}

func (leaseLaw) GracefulReleaseCountsNoAttempt(s *scene) {
	l := interrupted(s)
	s.release(l, 0, "")
	l = s.claim("two")
	equal(s, "after a release", before(l), attempt{1, false, ""})
	s.release(l, 0, "draining")
	l = s.claim("two")
	equal(s, "after a release with a reason", before(l), attempt{1, false, "draining"})
	equal(s, "after a lapse", before(s.takeOver("three")), attempt{2, true, ""})
}

func (leaseLaw) LapseCountsAnAttempt(s *scene) {
	s.admit(prompt(talk, "s1"))
	equal(s, "first claim", before(s.claim("one")), attempt{})
	for n := 1; n <= 3; n++ {
		equal(s, "after a lapse", before(s.takeOver(fmt.Sprintf("node %d", n))), attempt{n, true, ""})
	}
}

func (leaseLaw) OwnLapseCountsNoAttempt(s *scene) {
	s.onlyNodes()
	s.hold(prompt(talk, "s1"))
	for range 3 {
		equal(s, "taken up again", before(s.takeOver("one")), attempt{0, true, ""})
	}
	equal(s, "taken over", before(s.takeOver("two")), attempt{1, true, ""})
}

func (leaseLaw) FailedWorkCountsAnAttempt(s *scene) {
	l := interrupted(s)
	s.must(s.store.Release(s.Context(), l, svc.Release{After: time.Second, Reason: "broken", Failed: true}))
	s.claimNothing("two")
	s.db.Advance(time.Second)
	equal(s, "after a failure", before(s.claim("two")), attempt{2, false, "broken"})
}

func (leaseLaw) ProgressStartsTheAttemptsAgain(s *scene) {
	l := interrupted(s)
	s.append(l, batch(1, "no progress"))
	l = s.takeOver("three")
	equal(s, "without progress", before(l), attempt{2, true, ""})
	c := batch(1, "a recorded result")
	c.Progress = true
	s.append(l, c)
	l = s.takeOver("four")
	equal(s, "after progress and a lapse", before(l), attempt{1, true, ""})
	s.append(l, svc.Commit{Progress: true})
	s.release(l, 0, "")
	equal(s, "after progress and a release", before(s.claim("four")), attempt{})
}

func (leaseLaw) SettlementStartsTheAttemptsAgain(s *scene) {
	l := interrupted(s)
	s.admit(prompt(talk, "s2"))
	s.append(l, settled())
	l = s.takeOver("three")
	equal(s, "submission", l.Submission.ID, "s2")
	equal(s, "attempts", l.Attempts, 1)
	s.append(l, settled())
	equal(s, "next", before(s.hold(prompt(talk, "s3"))), attempt{})
}

func (leaseLaw) SettlementEndsTheReason(s *scene) {
	s.release(s.hold(prompt(talk, "s1")), 0, "draining")
	l := s.claim("one")
	equal(s, "reason", l.Reason, "draining")
	s.append(l, settled())
	equal(s, "next", before(s.hold(prompt(talk, "s2"))), attempt{})
}

func (leaseLaw) LeaseOnOneNodeKnowsNoTime(s *scene) {
	if s.db.Nodes() {
		s.Skip("several nodes")
	}
	l := s.hold(prompt(talk, "s1"))
	s.db.Advance(24 * time.Hour)
	s.claimNothing("one")
	s.append(l, batch(1, "still mine"))
	s.reopen()
	s.fenced(l)
}

func (leaseLaw) ExpiredLeaseIsClaimedByAnother(s *scene) {
	s.onlyNodes()
	l := s.hold(prompt(talk, "s1"))
	s.db.Advance(defaultLease - time.Second)
	s.claimNothing("two")
	s.db.Advance(2 * time.Second)
	equal(s, "taken over", s.claim("two").Stream, l.Stream)
	s.fenced(l)
}

func (leaseLaw) ExpiredLeaseAppendsUntilAnotherClaims(s *scene) {
	s.onlyNodes()
	l := s.hold(prompt(talk, "s1"))
	s.db.Advance(time.Hour)
	s.append(l, batch(1, "still mine"))
}

func (leaseLaw) OwnerSetsTheTimeOfItsLeases(s *scene) {
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
	return sure(s.store.Renew(s.Context(), owner(node), held))(s)
}

func (leaseLaw) RenewedLeaseOutlivesItsTime(s *scene) {
	s.onlyNodes()
	l := s.hold(prompt(talk, "s1"))
	for range 5 {
		s.db.Advance(6 * time.Second)
		equal(s, "lost", streams(s.renew("one", l).Lost), nil)
		s.claimNothing("two")
	}
	s.append(l, batch(1, "still mine"))
	s.db.Advance(defaultLease + time.Second)
	s.claim("two")
}

func (leaseLaw) RenewalNamesTheLost(s *scene) {
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

func (leaseLaw) RenewalNamesTheAborted(s *scene) {
	one, two := s.hold(invocation(run(1))), s.hold(invocation(run(2)))
	first := twoPrompts(s)
	s.abort(run(1), "")
	s.abort(talk, "s2")
	r := s.renew("one", one, two, first)
	equal(s, "lost", streams(r.Lost), nil)
	equal(s, "aborted", streams(r.Aborted), []svc.Stream{run(1)})
}

func (leaseLaw) NewBootVoidsTheLeasesOfItsNode(s *scene) {
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
