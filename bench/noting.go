package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/svc"
)

// notingStore notes what the load could learn only by asking a server that is to be left alone: when events of a chatty run
// were committed, so that their way to a reader can be timed without the time they waited for company, and which submissions
// have settled.
type notingStore struct {
	svc.Store

	admits  atomic.Int64
	appends atomic.Int64
	settled chan string // submissions, not told yet

	mu        sync.Mutex
	committed map[int64]int64       // by eventIndex, in microseconds
	queues    map[svc.Stream]string // the submission at the head, where it is no longer the lease's
}

// chatty is the workflow whose commits are noted.
const chatty = "chatty"

func newNotingStore(store svc.Store) *notingStore {
	return &notingStore{
		Store: store, settled: make(chan string, 1<<16), committed: map[int64]int64{}, queues: map[svc.Stream]string{},
	}
}

func (s *notingStore) Admit(ctx context.Context, a svc.Admission) (svc.Receipt, error) {
	s.admits.Add(1)
	return s.Store.Admit(ctx, a)
}

func (s *notingStore) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	s.appends.Add(1)
	appended, err := s.Store.Append(ctx, l, c)
	switch {
	case err != nil:
	case l.Stream.Name == chatty:
		s.noteCommit(appended, c)
	case l.Stream.Kind == svc.KindAgent && c.Settle != "":
		s.noteSettlement(l, appended)
	}
	return appended, err
}

func (s *notingStore) noteCommit(appended svc.Appended, c svc.Commit) {
	now := time.Now().UnixMicro()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range int64(c.N) {
		s.committed[int64(appended.Head)-i] = now
	}
}

func (s *notingStore) noteSettlement(l svc.Lease, appended svc.Appended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.queues[l.Stream]
	if !ok {
		id = l.Submission.ID
	}
	if appended.Next != nil {
		s.queues[l.Stream] = appended.Next.ID
	} else if ok {
		delete(s.queues, l.Stream)
	}
	select {
	case s.settled <- id:
	default: // nobody listens
	}
}

func (s *notingStore) commits() map[int64]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed
}

func (s *notingStore) count(u *Usage) { u.Admits, u.Appends = s.admits.Load(), s.appends.Load() }

// tellSettlements tells the ids of submissions, a line each, as they settle: for one listener, and for about a hundredth of
// what a prompt costs.
func (s *notingStore) tellSettlements(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	for {
		if len(s.settled) == 0 && out.Flush() != nil {
			return
		}
		select {
		case id := <-s.settled:
			fmt.Fprintln(w, id)
		case <-r.Context().Done():
			return
		}
	}
}
