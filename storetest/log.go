package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/stream"
)

// logLaw is what readers of a stream rely on.
type logLaw struct{}

func (logLaw) UnknownStreamIsNoStream(s *scene) {
	s.noStream(talk)
	s.noStream(run(1))
}

func (logLaw) AgentStreamOpensAtOffsetZero(s *scene) {
	first := s.admit(prompt(talk, "s1"))
	second := s.admit(prompt(talk, "s2"))

	rows := s.page(talk, everything()).Batches
	equal(s, "rows", len(rows), 1)
	sameTime(s, "at", rows[0].At, s.db.Now())
	rows[0].At = time.Time{}
	equal(s, "opening", rows[0], svc.Batch{Last: 0, N: 1, Data: []byte(opening)})
	equal(s, "head", s.tail(talk).Head, 0)
	equal(s, "receipts", []stream.Offset{first.Offset, second.Offset}, []stream.Offset{0, 0})
}

func (logLaw) RunStreamStartsAtStart(s *scene) {
	r := s.admit(invocation(run(1)))
	equal(s, "receipt", r.Offset, stream.Start)
	start := svc.Tail{Head: stream.Start, OpenFrom: stream.Start, ContextFrom: stream.Start}
	equal(s, "tail", s.tail(run(1)), start)
	page := s.page(run(1), everything())
	equal(s, "rows", len(page.Batches), 0)
	equal(s, "more", page.More, false)
}

func (logLaw) OffsetsGrowWithoutHoles(s *scene) {
	l := s.hold(invocation(run(1)))
	want := stream.Start
	for i, n := range []int{1, 3, 2, 1} {
		want += stream.Offset(n)
		a := s.append(l, batch(n, fmt.Sprint(i)))
		equal(s, "head", a.Head, want)
	}
	next := stream.Offset(0)
	for _, b := range s.page(run(1), everything()).Batches {
		equal(s, "first offset", b.Last-stream.Offset(b.N)+1, next)
		next = b.Last + 1
	}
	equal(s, "end", next, want+1)
}

func (logLaw) PrivateRecordsTakeNoOffset(s *scene) {
	l := s.hold(invocation(run(1)))
	want := []svc.Position{{Offset: -1, Part: 1}, {Offset: 0}, {Offset: 3}, {Offset: 3, Part: 1}, {Offset: 3, Part: 2}, {Offset: 5}}
	for i, n := range []int{0, 1, 3, 0, 0, 2} {
		a := s.append(l, batch(n, "x"))
		equal(s, "appended", svc.Position{Offset: a.Head, Part: a.Part}, want[i])
		t := s.tail(run(1))
		equal(s, "tail", svc.Position{Offset: t.Head, Part: t.Part}, want[i])
	}
	equal(s, "rows", each(s.page(run(1), everything()).Batches, svc.Batch.Position), want)
}

func (logLaw) DataComesBackByteForByte(s *scene) {
	l := s.hold(invocation(run(1)))
	all := [][]byte{{0, 255, 254, '\n', 0}, bytes.Repeat([]byte("ä\x00"), 100<<10), []byte(`{"b": 1, "a":2 }`)}
	for _, data := range all {
		s.append(l, svc.Commit{Data: data, N: 1})
	}
	for i, b := range s.page(run(1), everything()).Batches {
		if !bytes.Equal(b.Data, all[i]) {
			s.Errorf("row %d: %d bytes that differ from the %d appended", i, len(b.Data), len(all[i]))
		}
	}
}

func (logLaw) CommitWithoutDataWritesNoBatch(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	a := s.append(l, svc.Commit{Progress: true})
	equal(s, "head", a.Head, 0)
	equal(s, "part", a.Part, 0)
	equal(s, "log", s.log(talk), []string{opening})
}

// fiveRows is a run of five rows, one offset and ten bytes each.
func fiveRows(s *scene) svc.Stream {
	s.Helper()
	l := s.hold(invocation(run(1)))
	for i := range 5 {
		s.append(l, batch(1, fmt.Sprintf("row %6d", i)))
	}
	return run(1)
}

// expect proves how many rows a range holds and whether more remain.
func (s *scene) expect(st svc.Stream, r svc.Range, rows int, more bool) svc.Page {
	s.Helper()
	p := s.page(st, r)
	if len(p.Batches) != rows || p.More != more {
		s.Fatalf("%+v: %d rows, more %t, want %d, %t", r, len(p.Batches), p.More, rows, more)
	}
	return p
}

func (logLaw) PageStopsBeforeTheRowThatPassesItems(s *scene) {
	st, r := fiveRows(s), everything()
	for _, c := range []struct {
		items, rows int
		more        bool
	}{{1, 1, true}, {4, 4, true}, {5, 5, false}, {6, 5, false}, {0, 5, false}} {
		r.Items = c.items
		s.expect(st, r, c.rows, c.more)
	}
}

func (logLaw) PageStopsBeforeTheRowThatPassesBytes(s *scene) {
	st, r := fiveRows(s), everything()
	for _, c := range []struct {
		bytes, rows int
		more        bool
	}{{19, 1, true}, {20, 2, true}, {29, 2, true}, {49, 4, true}, {50, 5, false}, {51, 5, false}} {
		r.Bytes = c.bytes
		s.expect(st, r, c.rows, c.more)
	}
	r.Bytes, r.Items = 40, 3
	s.expect(st, r, 3, true)
	r.Bytes, r.Items = 30, 4
	s.expect(st, r, 3, true)
}

func (logLaw) PageHoldsOneRowWhateverItsSize(s *scene) {
	st, r := fiveRows(s), everything()
	r.Bytes = 1
	s.expect(st, r, 1, true)
	r.After.Offset = 3
	p := s.expect(st, r, 1, false)
	equal(s, "last", p.Batches[0].Last, 4)
	r.After.Offset = 4
	s.expect(st, r, 0, false)
}

func (logLaw) PageStopsAtThrough(s *scene) {
	st, r := fiveRows(s), everything()
	r.Through = 2
	s.expect(st, r, 3, false)
	r.Items = 2
	s.expect(st, r, 2, true)
	r.Items = 3
	s.expect(st, r, 3, false)
	r.After.Offset = 2
	s.expect(st, r, 0, false)
	r.After.Offset, r.Through = stream.Start, stream.Start
	s.expect(st, r, 0, false)
}

func (logLaw) PagesMeetWithoutLossOrDoubles(s *scene) {
	l := s.hold(invocation(run(1)))
	for i, n := range []int{0, 1, 3, 0, 0, 2, 1, 0, 1, 4} {
		s.append(l, batch(n, fmt.Sprint(i)))
	}
	r := everything()
	r.Bytes = 3
	var seen []string
	for more := true; more; {
		p := s.page(run(1), r)
		if len(p.Batches) == 0 {
			s.Fatalf("an empty page after %v", r.After)
		}
		seen = append(seen, texts(p)...)
		r.After, more = p.Batches[len(p.Batches)-1].Position(), p.More
	}
	equal(s, "rows", seen, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
}

func (logLaw) PositionInsideARowReturnsTheRow(s *scene) {
	l := s.hold(invocation(run(1)))
	s.append(l, batch(3, "zero to two"))
	s.append(l, batch(3, "three to five"))
	for after, want := range map[stream.Offset][]string{
		0: {"zero to two", "three to five"},
		1: {"zero to two", "three to five"},
		2: {"three to five"},
		4: {"three to five"},
		5: nil,
	} {
		r := everything()
		r.After.Offset = after
		equal(s, fmt.Sprintf("after %d", after), texts(s.page(run(1), r)), want)
	}
}

func (logLaw) PositionCountsPrivateRows(s *scene) {
	l := s.hold(invocation(run(1)))
	for _, c := range []svc.Commit{batch(0, "a"), batch(1, "b"), batch(0, "c"), batch(0, "d"), batch(1, "e")} {
		s.append(l, c)
	}
	for _, c := range []struct {
		after   svc.Position
		through stream.Offset
		want    []string
	}{
		{svc.Position{Offset: -1}, 0, []string{"a", "b", "c", "d"}},
		{svc.Position{Offset: -1, Part: 1}, 0, []string{"b", "c", "d"}},
		{svc.Position{Offset: 0}, 1, []string{"c", "d", "e"}},
		{svc.Position{Offset: 0, Part: 1}, 1, []string{"d", "e"}},
		{svc.Position{Offset: 0, Part: 2}, 1, []string{"e"}},
		{svc.Position{Offset: 0, Part: 2}, 0, nil},
	} {
		p := s.page(run(1), svc.Range{After: c.after, Through: c.through})
		equal(s, fmt.Sprintf("after %v", c.after), texts(p), c.want)
	}
}

func message(id string) svc.Message {
	return svc.Message{Ord: 99, Kind: "message", ID: id, Data: []byte(`{"id": "` + id + `"}`)}
}

// threeMessages is a conversation with a first commit that finished two messages and a second that finished one.
func threeMessages(s *scene) {
	s.Helper()
	l := s.hold(prompt(talk, "s1"))
	s.append(l, batch(1, "reply", message("m1"), message("m2")))
	s.append(l, batch(1, "nothing finished"))
	s.append(l, batch(1, "settled", svc.Message{Kind: "settlement", ID: "m3", Data: []byte{0, 255}}))
}

func messageIDs(p svc.Page) []string {
	return each(p.Messages, func(m svc.Message) string { return m.ID })
}

func messages() svc.Range {
	r := everything()
	r.Messages = true
	return r
}

func (logLaw) FinishedMessagesAreReadInOrder(s *scene) {
	threeMessages(s)
	p := s.page(talk, messages())
	equal(s, "messages", p.Messages, []svc.Message{
		{Ord: 0, Kind: "message", ID: "m1", Data: []byte(`{"id": "m1"}`)},
		{Ord: 1, Kind: "message", ID: "m2", Data: []byte(`{"id": "m2"}`)},
		{Ord: 2, Kind: "settlement", ID: "m3", Data: []byte{0, 255}},
	})
	equal(s, "batches", len(p.Batches), 0)
	equal(s, "more", p.More, false)
	equal(s, "count", s.tail(talk).Messages, 3)
}

func (logLaw) FinishedMessagesArePaged(s *scene) {
	threeMessages(s)
	for _, c := range []struct {
		after, through stream.Offset
		items, bytes   int
		want           []string
		more           bool
	}{
		{-1, 2, 2, 0, []string{"m1", "m2"}, true},
		{-1, 1, 2, 0, []string{"m1", "m2"}, false},
		{-1, 2, 0, 12, []string{"m1"}, true},
		{-1, 2, 0, 24, []string{"m1", "m2"}, true},
		{0, 1, 0, 0, []string{"m2"}, false},
		{1, 2, 0, 1, []string{"m3"}, false},
		{2, 2, 0, 0, nil, false},
	} {
		p := s.page(talk, svc.Range{
			After: svc.Position{Offset: c.after}, Through: c.through, Items: c.items, Bytes: c.bytes, Messages: true,
		})
		equal(s, fmt.Sprintf("after %d through %d", c.after, c.through), messageIDs(p), c.want)
		equal(s, "more", p.More, c.more)
	}
}

func (logLaw) FinishedMessagesAreReadByKind(s *scene) {
	threeMessages(s)
	for kind, want := range map[string][]string{"message": {"m1", "m2"}, "settlement": {"m3"}, "other": nil} {
		r := messages()
		r.Kind = kind
		equal(s, kind, messageIDs(s.page(talk, r)), want)
	}
}

// RowsBeyondTheLargestAreToldNotRead reads rows of one, four and one byte, and messages of twelve.
func (logLaw) RowsBeyondTheLargestAreToldNotRead(s *scene) {
	l := s.hold(invocation(run(1)))
	for _, c := range []svc.Commit{batch(1, "a"), batch(1, "long"), batch(1, "b")} {
		s.append(l, c)
	}
	for _, c := range []struct {
		after   stream.Offset
		largest int
		want    []string
		larger  int
		more    bool
	}{
		{-1, 3, []string{"a"}, 0, true}, {0, 3, nil, 4, true}, {0, 4, []string{"long", "b"}, 0, false}, {1, 3, []string{"b"}, 0, false},
		{-1, 0, []string{"a", "long", "b"}, 0, false},
	} {
		p := s.page(run(1), svc.Range{After: svc.Position{Offset: c.after, Part: 9}, Through: 2, Largest: c.largest})
		what := fmt.Sprintf("after %d, at most %d", c.after, c.largest)
		equal(s, what, texts(p), c.want)
		equal(s, what+": larger", p.Larger, c.larger)
		equal(s, what+": more", p.More, c.more)
	}
	threeMessages(s)
	for largest, want := range map[int][3]int{11: {0, 12, 1}, 12: {3, 0, 0}} {
		r := messages()
		r.Largest = largest
		p, more := s.page(talk, r), 0
		if p.More {
			more = 1
		}
		equal(s, fmt.Sprintf("messages of at most %d", largest), [3]int{len(p.Messages), p.Larger, more}, want)
	}
}

func (logLaw) TailFollowsEveryAppend(s *scene) {
	st := run(1)
	l := s.hold(invocation(st))
	open, context := stream.Offset(1), stream.Offset(0)

	s.append(l, batch(2, "a"))
	equal(s, "after a batch", s.tail(st), svc.Tail{Head: 1, OpenFrom: -1, ContextFrom: -1})
	s.append(l, svc.Commit{Data: []byte("b"), N: 1, OpenFrom: &open, Messages: []svc.Message{message("m1")}})
	equal(s, "after open from", s.tail(st), svc.Tail{Head: 2, OpenFrom: 1, ContextFrom: -1, Messages: 1})
	s.append(l, svc.Commit{Data: []byte("c"), ContextFrom: &context})
	equal(s, "after context from", s.tail(st), svc.Tail{Head: 2, Part: 1, OpenFrom: 1, Messages: 1})
	s.append(l, svc.Commit{Data: []byte("d"), N: 1, Settle: svc.OutcomeCompleted, Close: true})
	equal(s, "after closing", s.tail(st), svc.Tail{Head: 3, Closed: true, OpenFrom: 1, Messages: 1})
}

func (logLaw) TailIsOfOneInstant(s *scene) {
	const appends = 50
	l := s.hold(invocation(run(1)))
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		for i := range stream.Offset(appends) {
			c := svc.Commit{Data: []byte("x"), N: 1, OpenFrom: &i, ContextFrom: &i, Messages: []svc.Message{message("m")}}
			if _, err := s.store.Append(s.Context(), l, c); err != nil {
				s.Error(err)
				return
			}
		}
	})
	for t := s.tail(run(1)); t.Head < appends-1 && !s.Failed(); t = s.tail(run(1)) {
		equal(s, "tail", t, svc.Tail{Head: t.Head, OpenFrom: t.Head, ContextFrom: t.Head, Messages: int64(t.Head) + 1})
	}
}

func (logLaw) AppendWakesTheHead(s *scene) {
	l := s.hold(invocation(run(1)))
	s.wakes(run(1), svc.Head, func() { s.append(l, batch(1, "x")) })
}

func (logLaw) OpeningWakesTheHead(s *scene) {
	s.wakes(talk, svc.Head, func() { s.admit(prompt(talk, "s1")) })
}

func (logLaw) ClosingWakesTheHead(s *scene) {
	l := s.hold(invocation(run(1)))
	s.wakes(run(1), svc.Head, func() { s.append(l, svc.Commit{Settle: svc.OutcomeCompleted, Close: true}) })
	equal(s, "closed", s.tail(run(1)).Closed, true)
}

func (logLaw) AbortWakesTheMark(s *scene) {
	s.hold(prompt(talk, "s1"))
	s.wakes(talk, svc.Mark, func() { s.abort(talk, "") })
}

func (logLaw) AdmissionWithoutLeaseWakesTheReady(s *scene) {
	s.wakes(svc.Stream{}, svc.Ready, func() { s.admit(prompt(talk, "s1")) })
}

func (logLaw) ReleaseOfUnsettledWorkWakesTheReady(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	s.wakes(svc.Stream{}, svc.Ready, func() { s.release(l, 0, "draining") })
}

func (logLaw) AbortOfParkedWorkWakesTheReady(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	s.release(l, time.Hour, "backoff")
	s.wakes(svc.Stream{}, svc.Ready, func() { s.abort(talk, "s1") })
}

func (logLaw) WakeCrossesNodes(s *scene) {
	s.onlyNodes()
	l := s.hold(invocation(run(1)))
	wake, stop := s.db.Open(s.T).Watch(svc.Topic{Stream: run(1), Of: svc.Head})
	defer stop()
	s.append(l, batch(1, "x"))
	s.woken(wake)
}

func (logLaw) UnreadWakeBlocksNobody(s *scene) {
	l := s.hold(invocation(run(1)))
	wake := s.watch(run(1), svc.Head)
	for range 10 {
		s.append(l, batch(1, "x"))
	}
	equal(s, "room for signals", cap(wake), 1)
	s.woken(wake)
}

func (logLaw) ReaderWhoWatchesFirstMissesNothing(s *scene) {
	const appends = 200
	l := s.hold(invocation(run(1)))
	wake := s.watch(run(1), svc.Head)
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		for i := range appends {
			if _, err := s.store.Append(s.Context(), l, batch(1, fmt.Sprint(i))); err != nil {
				s.Error(err)
				return
			}
		}
	})
	r := everything()
	for seen := 0; seen < appends; {
		p := s.page(run(1), r)
		for _, b := range p.Batches {
			equal(s, "row", string(b.Data), fmt.Sprint(seen))
			r.After = b.Position()
			seen++
		}
		if len(p.Batches) == 0 {
			s.woken(wake)
		}
	}
}

func (logLaw) WatchStopsTwice(s *scene) {
	l := s.hold(invocation(run(1)))
	_, stop := s.store.Watch(svc.Topic{Stream: run(1), Of: svc.Head})
	other := s.watch(run(1), svc.Head)
	stop()
	stop()
	s.append(l, batch(1, "x"))
	s.woken(other)
}

func (logLaw) LogsOfTwoScopesNeverMeet(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	s.noStream(there)

	a := prompt(there, "s1")
	a.Opening = []byte("theirs")
	s.admit(a)
	s.append(l, batch(1, "ours", message("m1")))
	equal(s, "here", s.log(talk), []string{opening, "ours"})
	equal(s, "there", s.log(there), []string{"theirs"})
	equal(s, "their messages", len(s.page(there, messages()).Messages), 0)

	s.drop(talk)
	equal(s, "there after the drop", s.log(there), []string{"theirs"})
}

func (s *scene) drop(st svc.Stream) {
	s.Helper()
	s.must(s.store.Drop(s.Context(), st))
}

func (logLaw) DropErasesAConversation(s *scene) {
	a := prompt(talk, "s1")
	a.Blobs = []svc.Attachment{s.put(scope, "a1", "bytes")}
	l := s.hold(a)
	s.admit(prompt(talk, "s2"))
	s.append(l, batch(1, "x", message("m1")))

	s.drop(talk)
	s.noStream(talk)
	s.refused(errOf(s.store.Read(s.Context(), talk, messages())), svc.ErrNoStream)
	s.noAttachment(talk, "a1")
	equal(s, "abort", s.abort(talk, ""), false)
	equal(s, "conversations", len(s.conversations(svc.ConversationQuery{Scope: scope, Limit: 10}).Conversations), 0)
}

func (logLaw) DropErasesARun(s *scene) {
	s.hold(invocation(run(1)))
	s.drop(run(1))
	s.noStream(run(1))
	s.refused(errOf(s.store.GetRun(s.Context(), scope, run(1).ID)), svc.ErrNotFound)
	equal(s, "runs", len(s.runs(svc.RunQuery{Scope: scope, Limit: 10}).Runs), 0)
}

func (logLaw) DropLeavesOtherStreamsAlone(s *scene) {
	s.admit(prompt(talk, "s1"))
	l := s.hold(prompt(conversation("43"), "s1"))
	s.drop(talk)
	s.append(l, batch(1, "x"))
	equal(s, "log", s.log(conversation("43")), []string{opening, "x"})
	equal(s, "queue", s.queue(conversation("43")), []string{"s1"})
}

func (logLaw) DropFencesTheHolder(s *scene) {
	l := s.hold(invocation(run(1)))
	s.drop(run(1))
	s.fenced(l)
	equal(s, "lost", streams(s.renew("one", l).Lost), []svc.Stream{run(1)})
}

func (logLaw) DroppedWorkIsNotClaimed(s *scene) {
	s.admit(prompt(talk, "s1"), invocation(run(1)))
	s.drop(talk)
	s.drop(run(1))
	s.claimNothing("one")
}

func (logLaw) DroppingNothingIsNoError(s *scene) {
	s.drop(talk)
	s.admit(prompt(talk, "s1"))
	s.drop(talk)
	s.drop(talk)
	s.noStream(talk)
}

func (logLaw) RecreatedConversationGoesOnBehindTheOldHead(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	head := s.append(l, batch(1, "old", message("m1"))).Head
	s.drop(talk)

	r := s.admit(prompt(talk, "s2"))
	rows := s.page(talk, everything()).Batches
	equal(s, "rows", len(rows), 1)
	equal(s, "opening", rows[0].Last, head+1)
	equal(s, "receipt", r.Offset, head+1)
	equal(s, "queue", s.queue(talk), []string{"s2"})
	equal(s, "messages", len(s.page(talk, messages()).Messages), 0)
	equal(s, "count", s.tail(talk).Messages, 0)
}

func (logLaw) RecreatedRunGoesOnBehindTheOldHead(s *scene) {
	l := s.hold(invocation(run(1)))
	head := s.append(l, svc.Commit{Data: []byte("old"), N: 3, Settle: svc.OutcomeCompleted, Close: true}).Head
	s.drop(run(1))

	l = s.hold(invocation(run(1)))
	a := s.append(l, batch(1, "new"))
	equal(s, "head", a.Head, head+1)
	equal(s, "log", s.log(run(1)), []string{"new"})
	equal(s, "closed", s.tail(run(1)).Closed, false)
}

func (logLaw) LeaseOfADroppedStreamStaysStale(s *scene) {
	old := s.hold(invocation(run(1)))
	s.drop(run(1))
	l := s.hold(invocation(run(1)))
	s.fenced(old)
	s.append(l, batch(1, "new"))
	equal(s, "log", s.log(run(1)), []string{"new"})
}

func (logLaw) DropWakesWhoReadsAndWhoWorks(s *scene) {
	for _, st := range []svc.Stream{run(1), talk} {
		a := invocation(st)
		if st.Kind == svc.KindAgent {
			a = prompt(st, "s1")
		}
		s.hold(a)
		head, mark := s.watch(st, svc.Head), s.watch(st, svc.Mark)
		s.drop(st)
		s.woken(head)
		s.woken(mark)
	}
}

func streams(leases []svc.Lease) []svc.Stream {
	return each(leases, func(l svc.Lease) svc.Stream { return l.Stream })
}
