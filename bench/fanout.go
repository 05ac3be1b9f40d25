package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	eventsPerSecond = 100                   // of the one writer of a fan-out
	deliveryP99     = 50 * time.Millisecond // its target
)

// measureFanOut lets many readers follow one writer.
func measureFanOut(ctx context.Context, b *Bench, db Database) error {
	n, d := pick(b, 1000, 200), pick(b, 10*time.Second, 2*time.Second)
	// Right before, for the machine may be another a minute later.
	bare, err := b.fanOutBare(ctx, n, d/2)
	if err != nil {
		return err
	}
	return b.withServer(ctx, db, Setting{}, func(s *Server) error {
		got, err := fanOut(ctx, s, n, d)
		if err != nil {
			return err
		}
		lost := got.Missing + got.Astray
		b.Report.add(Row{
			Measurement: fmt.Sprintf("SSE fan-out, %s, %d events/s to %s readers for %s", db.Name, eventsPerSecond, count(n), d),
			Figure: fmt.Sprintf("commit to delivery %s; %s of %s deliveries missing or astray; %.2f cores",
				got.FromCommit, count(lost), count(n*got.Events), got.Cores),
			Beside: fmt.Sprintf("bare net/http: %s; from the call, gathering included: %s", bare.FromCommit, got.FromCall),
			Target: "p99 < " + ms(deliveryP99) + ", all in order", Met: met(lost == 0 && got.FromCommit.p99() < deliveryP99),
		})
		return nil
	})
}

// fanOut lets n readers follow one run.
func fanOut(ctx context.Context, s *Server, n int, d time.Duration) (got Delivered, err error) {
	events := int(d.Seconds() * eventsPerSecond)
	id, err := invoke(s.Served, chatty, fmt.Sprintf(`{"n":%d}`, events))
	if err != nil {
		return got, err
	}
	return deliver(ctx, s, liveRun(id), n, events+1) // the last event comes by itself
}

func liveRun(id string) string { return "/runs/" + id + "?offset=-1&live=sse" }

func (b *Bench) fanOutBare(ctx context.Context, n int, d time.Duration) (got Delivered, err error) {
	err = b.withServer(ctx, b.Databases[0], Setting{Engine: bareName}, func(s *Server) (err error) {
		got, err = deliver(ctx, s, "/", n, int(d.Seconds()*eventsPerSecond))
		return err
	})
	return got, err
}

// Delivered is how events reached many readers.
type Delivered struct {
	Readers    int
	Events     int // committed, each to be delivered to every reader
	Missing    int // of all deliveries
	Astray     int // deliveries out of order, or of what was delivered before
	FromCommit times
	FromCall   times   // of the workflow, with the time that events waited for company
	Cores      float64 // that the server used
}

// deliver opens readers, tells the server to begin, and returns when all that was to come has come.
func deliver(ctx context.Context, s *Server, path string, n, events int) (got Delivered, err error) {
	all, closeAll, err := followAll(s.Served, path, n)
	if err != nil {
		return got, err
	}
	defer closeAll()
	all[0].looks = true
	spent, err := s.spend(ctx, func() (int, error) {
		if err := s.control(ctx, fmt.Sprint("/begin?events=", events), nil); err != nil {
			return 0, err
		}
		var group sync.WaitGroup
		for _, l := range all {
			group.Go(l.listen)
		}
		group.Wait()
		return n, nil
	})
	if err != nil {
		return got, err
	}
	committed := map[int]int64{}
	if err := s.control(ctx, "/commits", &committed); err != nil {
		return got, err
	}
	got = delivered(all, committed)
	got.Missing += n * max(0, events-got.Events) // what was never committed reached nobody
	got.Cores = spent.CPU.Seconds() / spent.Took.Seconds()
	return got, nil
}

// listener is a reader, and when each event arrived at it.
type listener struct {
	*reader
	arrived map[int]int64 // by eventIndex, in microseconds
	written map[int]int64 // as the events say
	next    int           // the index that should come next
	astray  int           // how often another came
	looks   bool          // at what the events say: one listener does for all
}

// followAll opens connections, each as far as the head of its answer; what it returns closes them.
func followAll(to, path string, n int) (all []*listener, closeAll func(), err error) {
	all = make([]*listener, n)
	closeAll = func() {
		for _, l := range all {
			if l != nil {
				l.close()
			}
		}
	}
	err = inParallel(n, func(i int) error {
		r, err := follow(door{Address: to}, path)
		if err == nil {
			all[i] = newListener(r)
		}
		return err
	})
	if err != nil {
		closeAll()
	}
	return all, closeAll, err
}

func newListener(r *reader) *listener {
	return &listener{reader: r, arrived: map[int]int64{}, written: map[int]int64{}}
}

// listen notes every event until the stream ends; what does not come by then is missing.
func (l *listener) listen() {
	_ = l.until(func(line []byte) bool {
		l.note(line, time.Now().UnixMicro())
		return false
	})
}

var (
	fieldIndex   = []byte(`"eventIndex":`)
	fieldWritten = []byte(`"message":"` + written)
)

// note finds the events of a data frame without decoding them: decoding a thousandfold would cost more than what is
// measured. An event's message stands before its index.
func (l *listener) note(line []byte, now int64) {
	for {
		event, rest, ok := bytes.Cut(line, fieldIndex)
		if !ok {
			return
		}
		line = rest
		index := int(number(rest))
		if index != l.next && l.next > 0 {
			l.astray++ // the first may be any
		}
		l.next = index + 1
		l.arrived[index] = now
		if _, at, ok := bytes.Cut(event, fieldWritten); ok && l.looks {
			l.written[index] = number(at)
		}
	}
}

func number(text []byte) int64 {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, _ := strconv.ParseInt(string(text[:end]), 10, 64)
	return n
}

// delivered holds arrivals against commits. The first event is left out: it was there before the readers were.
func delivered(all []*listener, committed map[int]int64) Delivered {
	delete(committed, 0)
	d := Delivered{Readers: len(all), Events: len(committed)}
	var fromCommit, fromCall []time.Duration
	for _, l := range all {
		d.Astray += l.astray
		for index, at := range committed {
			arrived, ok := l.arrived[index]
			if !ok {
				d.Missing++
				continue
			}
			fromCommit = append(fromCommit, time.Duration(arrived-at)*time.Microsecond)
			if wrote, ok := all[0].written[index]; ok {
				fromCall = append(fromCall, time.Duration(arrived-wrote)*time.Microsecond)
			}
		}
	}
	d.FromCommit, d.FromCall = sorted(fromCommit), sorted(fromCall)
	return d
}
