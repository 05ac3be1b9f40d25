package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
)

// The targets of reading conversations.
const (
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
func speak(ctx context.Context, store svc.Store, batches []int) (all []spoken, err error) {
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

// connect is how long it takes to connect behind an offset of a conversation, until all that lies there has been read.
func (s spoken) connect(to string, after stream.Offset) (time.Duration, error) {
	began := time.Now()
	u, err := openUpdates(to, s.id, after.String())
	if err != nil {
		return 0, err
	}
	defer u.close()
	err = u.until(saysControl, nil)
	return time.Since(began), err
}

// connectAll connects to all, turn by turn, so that what disturbs one disturbs the others. It returns the median of each.
func connectAll(to string, all []spoken, times int, behind stream.Offset) ([]time.Duration, error) {
	took := make([][]time.Duration, len(all))
	for range times {
		for i, s := range all {
			d, err := s.connect(to, s.head-behind)
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], d)
		}
	}
	var medians []time.Duration
	for _, t := range took {
		slices.Sort(t)
		medians = append(medians, quantile(t, 0.5))
	}
	return medians, nil
}

// measureTail connects to the tail of a long conversation and of a short one.
func measureTail(ctx context.Context, b *Bench) error {
	long := pick(b, 100_000, 10_000)
	for _, db := range b.Databases {
		var all []spoken
		err := filled(ctx, db, func(store svc.Store) (err error) {
			all, err = speak(ctx, store, []int{long, 1000})
			return err
		}, func(address string) error {
			return b.withServerOn(ctx, address, func(s *Server) error {
				took, err := connectAll(s.Served, all, pick(b, 500, 100), 0)
				if err == nil {
					b.Report.add(tailRow(db, all, took))
				}
				return err
			})
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}

func tailRow(db Database, all []spoken, took []time.Duration) Row {
	long, short := took[0], took[1]
	ratio := float64(long) / float64(short)
	return Row{
		Measurement: fmt.Sprintf("connecting at the tail of %s batches, %s", count(all[0].batches), db.Name),
		Figure:      fmt.Sprintf("p50 %s, ratio %.2f", ms(long), ratio),
		Beside:      fmt.Sprintf("of %s batches: p50 %s", count(all[1].batches), ms(short)),
		Target:      fmt.Sprintf("ratio ≤ %.0f, < %s", tailRatio, ms(tailLatency)),
		Met:         met(ratio <= tailRatio && long < tailLatency),
		Values:      map[string]float64{"longMillis": float64(long) / 1e6, "shortMillis": float64(short) / 1e6, "ratio": ratio},
	}
}

// measureHistory reads the history of a conversation of many messages, whole.
func measureHistory(ctx context.Context, b *Bench) error {
	const id, messageBytes = "history", 1000
	messages := pick(b, 30_000, 3000)
	for _, db := range b.Databases {
		err := filled(ctx, db, func(store svc.Store) error {
			f, err := fillConversation(ctx, store, id)
			if err == nil {
				err = f.finish(ctx, messages, messageBytes)
			}
			return err
		}, func(address string) error {
			return b.withServerOn(ctx, address, func(s *Server) error { return b.readHistory(ctx, db, s, id, messages) })
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}

// finish writes finished messages, a hundred with every batch.
func (f *filling) finish(ctx context.Context, messages, size int) error {
	const together = 100
	for first := 0; first < messages; first += together {
		var records []conversation.Record
		for i := range together {
			r := f.record(conversation.UserMessage, strings.Repeat("word ", (size-250)/5)) // the rest is what surrounds it
			r.Message = fmt.Sprintf("entry_%08d", first+i)
			records = append(records, r)
		}
		rows, err := new(conversation.Tail).Apply(records)
		if err != nil {
			return err
		}
		var c svc.Commit
		for _, row := range rows {
			c.Messages = append(c.Messages, svc.Message{Kind: row.Kind, ID: row.ID, Data: row.Data})
		}
		if _, err := f.append(ctx, c, records...); err != nil {
			return err
		}
	}
	_, err := f.settle(ctx)
	return err
}

func (b *Bench) readHistory(ctx context.Context, db Database, s *Server, id string, messages int) error {
	w, err := dial(s.Served)
	if err != nil {
		return err
	}
	defer w.close()
	var took []time.Duration
	var size int
	before, after, err := spent(ctx, s.Control, b.profile("history", db.Name), func() error {
		for range pick(b, 9, 5) {
			asked := time.Now()
			_, body, err := w.ask(http.MethodGet, instancePath(id), "")
			if err != nil {
				return err
			}
			took, size = append(took, time.Since(asked)), len(body)
			if n := strings.Count(string(body), `"entry_`); n != messages {
				return fmt.Errorf("history has %d messages, not %d", n, messages)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	cpu := (after.CPU - before.CPU) / time.Duration(len(took))
	first := took[0]
	slices.Sort(took)
	p50 := quantile(took, 0.5)
	b.Report.add(Row{
		Measurement: fmt.Sprintf("history of %s messages, %.0f MB, %s", count(messages), float64(size)/1e6, db.Name),
		Figure:      fmt.Sprintf("p50 %s, %s server CPU", ms(p50), ms(cpu)),
		Beside:      fmt.Sprintf("the first %s; server at most %s RSS", ms(first), mib(after.HighWater)),
		Target:      "< " + ms(historyLatency), Met: met(p50 < historyLatency),
		Values: map[string]float64{
			"p50Millis": float64(p50) / 1e6, "firstMillis": float64(first) / 1e6, "cpuMillis": float64(cpu) / 1e6,
			"bytes": float64(size), "highWater": float64(after.HighWater),
		},
	})
	return nil
}

// measureConversations holds many conversations open at one time, and reconnects to long ones.
func measureConversations(ctx context.Context, b *Bench) error {
	db, n := b.Databases[0], pick(b, 1000, 200)
	var all []spoken
	return filled(ctx, db, func(store svc.Store) (err error) {
		all, err = speak(ctx, store, pick(b, []int{1000, 10_000, 100_000}, []int{1000, 10_000}))
		return err
	}, func(address string) error {
		return b.withServerOn(ctx, address, func(s *Server) error {
			if err := b.openMany(ctx, s, n); err != nil {
				return err
			}
			return b.reconnect(db, s, all)
		})
	})
}

// openMany prompts as many instances, follows each, and keeps all connections open.
func (b *Bench) openMany(ctx context.Context, s *Server, n int) error {
	opened, err := converse(s.Served, "warm-up", fillers)
	closeAll(opened)
	if err != nil {
		return err
	}
	var before, after Usage
	if err := control(ctx, s.Control, "/settle", &before); err != nil {
		return err
	}
	opened, err = converse(s.Served, "open", n)
	defer func() { closeAll(opened) }()
	if err == nil {
		time.Sleep(pick(b, time.Second, 300*time.Millisecond))
		err = control(ctx, s.Control, "/settle", &after)
	}
	if err != nil {
		return err
	}
	delta := after.RSS - before.RSS
	b.Report.add(Row{
		Measurement: fmt.Sprintf("memory of %s conversations that are open, each answered once and followed", count(n)),
		Figure:      fmt.Sprintf("%s of server RSS, %s each", mib(delta), kb(float64(delta)/float64(n))),
		Beside:      fmt.Sprintf("%s before, %s at its most", mib(before.RSS), mib(after.HighWater)),
		Values:      map[string]float64{"rss": float64(delta), "each": float64(delta) / float64(n), "highWater": float64(after.HighWater)},
	})
	return nil
}

// converse has n conversations of one prompt each, and leaves their readers connected.
func converse(to, name string, n int) ([]*updates, error) {
	opened := make([]*updates, n)
	err := inParallel(n, func(i int) error {
		id := fmt.Sprintf("%s-%d", name, i)
		w, err := dial(to)
		if err != nil {
			return err
		}
		defer w.close()
		p, err := w.prompt(id, usualPrompt)
		if err != nil {
			return err
		}
		if opened[i], err = openUpdates(to, id, p.Offset); err != nil {
			return err
		}
		return opened[i].until(saysSettled, nil)
	})
	return opened, err
}

func closeAll(opened []*updates) {
	for _, u := range opened {
		if u != nil {
			u.close()
		}
	}
}

// reconnect connects as one does who missed the last ten batches.
func (b *Bench) reconnect(db Database, s *Server, all []spoken) error {
	took, err := connectAll(s.Served, all, pick(b, 300, 50), 10)
	if err != nil {
		return err
	}
	var figures []string
	values := map[string]float64{}
	for i, c := range all {
		figures = append(figures, fmt.Sprintf("%s: %s", count(c.batches), ms(took[i])))
		values[fmt.Sprint("millisOf", c.batches)] = float64(took[i]) / 1e6
	}
	b.Report.add(Row{
		Measurement: "reconnecting ten batches before the tail, " + db.Name + ", by the records of the conversation",
		Figure:      "p50 of " + strings.Join(figures, ", "),
		Values:      values,
	})
	return nil
}
