package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/stream"
)

// The targets of reading conversations.
const (
	tailRatio      = 2.0 // of a long one's tail to a short one's
	tailLatency    = 10 * time.Millisecond
	historyLatency = 300 * time.Millisecond
)

// spoken is a conversation of so many batches, and where it ends.
type spoken struct {
	id      string
	batches int
	head    stream.Offset
}

// speak writes a conversation for each number of batches.
func speak(ctx context.Context, store svc.Store, batches ...int) (all []spoken, err error) {
	for _, n := range batches {
		s := spoken{id: fmt.Sprint("spoken-", n), batches: n}
		f, err := fillConversation(ctx, store, s.id)
		if err != nil {
			return nil, err
		}
		if s.head, err = f.say(ctx, n, "a few words of a reply "); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// missed is how many batches a reader has missed that connects again.
const missed = 10

// connectAll connects to all behind what was missed, until it has been read: turn by turn, so that what disturbs one
// disturbs the others. It returns the median of each.
func connectAll(to string, all []spoken, turns int) (medians []time.Duration, err error) {
	took := make([][]time.Duration, len(all))
	for range turns {
		for i, s := range all {
			began := time.Now()
			if err := readUpdates(door{Address: to}, s.id, (s.head - missed).String(), saysControl, nil); err != nil {
				return nil, err
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for _, t := range took {
		medians = append(medians, sorted(t).p50())
	}
	return medians, nil
}

// measureTail connects to the tail of a long conversation and of a short one.
func measureTail(ctx context.Context, b *Bench, db Database) error {
	var all []spoken
	filled := Setting{Fill: func(store svc.Store) (err error) {
		all, err = speak(ctx, store, pick(b, 100_000, 10_000), 1000)
		return err
	}}
	return b.withServer(ctx, db, filled, func(s *Server) error {
		took, err := connectAll(s.Served, all, pick(b, 500, 100))
		if err != nil {
			return err
		}
		ratio := float64(took[0]) / float64(took[1])
		b.Report.add(Row{
			Measurement: fmt.Sprintf("connecting %d batches before the tail of %s, %s", missed, count(all[0].batches), db.Name),
			Figure:      fmt.Sprintf("p50 %s, ratio %.2f", ms(took[0]), ratio),
			Beside:      fmt.Sprintf("of %s batches: p50 %s", count(all[1].batches), ms(took[1])),
			Target:      fmt.Sprintf("ratio ≤ %.0f, < %s", tailRatio, ms(tailLatency)),
			Met:         met(ratio <= tailRatio && took[0] < tailLatency),
		})
		return nil
	})
}

// measureHistory reads the history of a conversation of many messages, whole.
func measureHistory(ctx context.Context, b *Bench, db Database) error {
	const id, messageBytes = "history", 1000
	messages := pick(b, 30_000, 3000)
	filled := Setting{Fill: func(store svc.Store) error {
		f, err := fillConversation(ctx, store, id)
		if err == nil {
			err = f.finish(ctx, messages, messageBytes)
		}
		return err
	}}
	return b.withServer(ctx, db, filled, func(s *Server) error { return b.readHistory(ctx, s, id, messages) })
}

func (b *Bench) readHistory(ctx context.Context, s *Server, id string, messages int) error {
	w, err := dial(s.Served)
	if err != nil {
		return err
	}
	defer w.close()
	var took []time.Duration
	var size int
	spent, err := s.spend(ctx, func() (int, error) {
		for range pick(b, 9, 5) {
			asked := time.Now()
			_, body, err := w.ask(http.MethodGet, w.instancePath(id), "")
			if err != nil {
				return 0, err
			}
			took, size = append(took, time.Since(asked)), len(body)
			if n := strings.Count(string(body), `"entry_`); n != messages {
				return 0, fmt.Errorf("history has %d messages, not %d", n, messages)
			}
		}
		return len(took), nil
	})
	if err != nil {
		return err
	}
	p50 := sorted(took).p50()
	b.Report.add(Row{
		Measurement: fmt.Sprintf("history of %s messages, %.0f MB, %s", count(messages), float64(size)/1e6, s.db.Name),
		Figure:      fmt.Sprintf("p50 %s, %s server CPU", ms(p50), ms(spent.cpu())),
		Beside:      fmt.Sprintf("the first %s; server at most %s RSS", ms(took[0]), mib(spent.HighWater)),
		Target:      "< " + ms(historyLatency), Met: met(p50 < historyLatency),
	})
	return nil
}
