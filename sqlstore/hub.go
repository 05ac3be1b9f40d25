package sqlstore

import (
	"context"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// hub wakes those who watch a topic. Topics are known by a hash, the same on every node; two that share one wake each
// other's watchers, which costs them a look.
type hub struct {
	remote func(keys ...string)

	mu       sync.Mutex
	watchers map[uint64]map[*watcher]struct{}
}

// watcher is one watch. What the poll saw last lets it tell news from silence.
type watcher struct {
	topic svc.Topic
	wake  chan struct{}

	seen   bool
	head   int64
	marked bool
}

func hash(t svc.Topic) uint64 {
	h := fnv.New64a()
	for _, part := range []string{t.Stream.Scope, string(t.Stream.Kind), t.Stream.Name, t.Stream.ID} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write([]byte{byte(t.Of)})
	return h.Sum64()
}

func (h *hub) watch(t svc.Topic) (<-chan struct{}, func()) {
	w := &watcher{topic: t, wake: make(chan struct{}, 1)}
	key := hash(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[key] == nil {
		h.watchers[key] = map[*watcher]struct{}{}
	}
	h.watchers[key][w] = struct{}{}
	return w.wake, func() { h.unwatch(key, w) }
}

func (h *hub) unwatch(key uint64, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[key], w)
	if len(h.watchers[key]) == 0 {
		delete(h.watchers, key)
	}
}

// signal wakes the topic's watchers here and hints to the other nodes. It is called after the commit.
func (h *hub) signal(t svc.Topic) {
	key := hash(t)
	h.wake(key)
	h.remote(strconv.FormatUint(key, 36))
}

func (h *hub) wake(key uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers[key] {
		w.notify()
	}
}

func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// heard wakes the watchers of what another node has told, or everybody when something may have been missed.
func (h *hub) heard(keys []string) {
	if keys == nil {
		h.wakeAll()
		return
	}
	for _, text := range keys {
		if key, err := strconv.ParseUint(text, 36, 64); err == nil {
			h.wake(key)
		}
	}
}

func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, watchers := range h.watchers {
		for w := range watchers {
			w.notify()
		}
	}
}

// streams are the watchers of streams.
func (h *hub) streams() (all []*watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, watchers := range h.watchers {
		for w := range watchers {
			if w.topic.Of != svc.Ready {
				all = append(all, w)
			}
		}
	}
	return all
}

// Watch signals that a topic may have moved.
func (s *Store) Watch(t svc.Topic) (<-chan struct{}, func()) { return s.hub.watch(t) }

// pollReady makes those look again who wait for work, whether or not the database answers to poll. It does so twice as often:
// a lease that lapsed is found by nothing else.
func (s *Store) pollReady(ctx context.Context) {
	every(ctx, s.config.Poll/2, func() { s.hub.wake(hash(svc.Topic{Of: svc.Ready})) })
}

// poll looks once in a while for what a lost wake did not tell: one statement for all watched streams.
func (s *Store) poll(ctx context.Context) {
	every(ctx, s.config.Poll, func() {
		streams := s.hub.streams()
		if len(streams) == 0 {
			return
		}
		if err := s.pollStreams(ctx, streams); err != nil && ctx.Err() == nil {
			s.config.Log.Warn("poll streams", "watched", len(streams), "error", err)
		}
	})
}

func every(ctx context.Context, d time.Duration, do func()) {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

const pollStreams = `
SELECT w.i, streams.head, streams.closed, ` + marked + `
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS w(scope, kind, name, instance, i)
JOIN streams ON (streams.scope, streams.kind, streams.name, streams.instance) = (w.scope, w.kind, w.name, w.instance)`

func (s *Store) pollStreams(ctx context.Context, watched []*watcher) error {
	var scopes, kinds, names, ids []string
	for _, w := range watched {
		a := w.topic.Stream
		if !storableStream(a) {
			a = svc.Stream{}
		}
		scopes, kinds = append(scopes, a.Scope), append(kinds, string(a.Kind))
		names, ids = append(names, a.Name), append(ids, a.ID)
	}
	type seen struct {
		i, head        int64
		closed, marked bool
	}
	all, err := readAll(ctx, s, "poll", func(s *seen) []any { return []any{&s.i, &s.head, &s.closed, &s.marked} },
		pollStreams, scopes, kinds, names, ids)
	for _, s := range all {
		watched[s.i-1].look(s.head+sqldb.Bit(s.closed), s.marked) // closing is news too
	}
	return err
}

// look wakes the watcher if what it watches is not as it was seen last.
func (w *watcher) look(head int64, marked bool) {
	if w.seen && head == w.head && marked == w.marked {
		return
	}
	w.seen, w.head, w.marked = true, head, marked
	w.notify()
}

// dropped wakes whoever follows a stream that was dropped, or works on it.
func (h *hub) dropped(a svc.Stream) {
	h.signal(svc.Topic{Stream: a, Of: svc.Head})
	h.signal(svc.Topic{Stream: a, Of: svc.Mark})
}
