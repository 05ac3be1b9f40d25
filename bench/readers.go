package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Delivered is how events reached many readers.
type Delivered struct {
	Readers    int           `json:"readers"`
	Events     int           `json:"events"`  // committed, each to be delivered to every reader
	Missing    int           `json:"missing"` // of all deliveries
	Astray     int           `json:"astray"`  // deliveries out of order, or of what was delivered before
	Commit50   time.Duration `json:"commit50"`
	Commit99   time.Duration `json:"commit99"`
	CommitMost time.Duration `json:"commitMost"`
	Written50  time.Duration `json:"written50"` // from the workflow's call, with the time it waited for company
	Written99  time.Duration `json:"written99"`
}

// readers is the role of those who follow one stream: it says when all are connected. Idle ones then wait for the end of
// input; the others read until the stream closes and say what they got.
func readers(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("readers", flag.ContinueOnError)
	to := flags.String("to", "", "server to read from")
	controlled := flags.String("control", "", "its control")
	path := flags.String("path", "", "path of the stream")
	n := flags.Int("n", 1, "readers")
	idle := flags.Bool("idle", false, "only keep the connections open")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := untilInputEnds(ctx)
	defer cancel()
	all, err := follow(*to, *path, *n)
	defer func() {
		for _, r := range all {
			r.wire.close()
		}
	}()
	if err != nil {
		return err
	}
	if err := say(len(all)); err != nil {
		return err
	}
	if *idle {
		<-ctx.Done()
		return nil
	}
	go func() {
		<-ctx.Done()
		for _, r := range all {
			r.wire.close()
		}
	}()
	var group sync.WaitGroup
	for _, r := range all {
		group.Go(r.read)
	}
	group.Wait()
	committed := map[int]int64{}
	if err := control(ctx, *controlled, "/commits", &committed); err != nil {
		return err
	}
	return say(delivered(all, committed))
}

// reader is one SSE connection, and when each event arrived on it.
type reader struct {
	wire    *wire
	body    io.Reader
	arrived []int64 // by eventIndex, in microseconds
	written []int64 // as the events say
	next    int     // the index that should come next
	astray  int     // how often another came
	looks   bool    // at what the events say: one reader does for all
}

// follow opens connections, a few at a time, each as far as the head of its answer.
func follow(to, path string, n int) ([]*reader, error) {
	all := make([]*reader, n)
	var next atomic.Int64
	var mu sync.Mutex
	var failure error
	var group sync.WaitGroup
	for range min(n, 32) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				r, err := openReader(to, path)
				if err != nil {
					mu.Lock()
					failure = err
					mu.Unlock()
					return
				}
				all[i] = r
			}
		})
	}
	group.Wait()
	if failure != nil {
		return slices.DeleteFunc(all, func(r *reader) bool { return r == nil }), failure
	}
	all[0].looks = true
	return all, nil
}

func openReader(to, path string) (*reader, error) {
	w, err := dial(to)
	if err != nil {
		return nil, err
	}
	resp, err := w.send(http.MethodGet, path, "")
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return &reader{wire: w, body: resp.Body}, nil
}

// read notes every event until the stream ends.
func (r *reader) read() {
	lines := bufio.NewReaderSize(r.body, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // longer than any frame of a stream that is followed: it will be missing
		}
		if err != nil {
			return
		}
		if bytes.HasPrefix(line, []byte("data:[")) {
			r.note(line, time.Now().UnixMicro())
		}
	}
}

var (
	fieldIndex   = []byte(`"eventIndex":`)
	fieldWritten = []byte(`"message":"` + written)
)

// note finds the events of a data frame without decoding them: decoding a thousandfold would cost more than what is
// measured. An event's message stands before its index.
func (r *reader) note(line []byte, now int64) {
	for {
		i := bytes.Index(line, fieldIndex)
		if i < 0 {
			return
		}
		event := line[:i]
		line = line[i+len(fieldIndex):]
		index := int(number(line))
		if index != r.next && r.next > 0 {
			r.astray++ // the first may be any
		}
		r.next = index + 1
		r.arrived = put(r.arrived, index, now)
		if at := bytes.Index(event, fieldWritten); at >= 0 && r.looks {
			r.written = put(r.written, index, number(event[at+len(fieldWritten):]))
		}
	}
}

// put sets an element of a list that grows as far as it must; what was never set is zero.
func put(list []int64, i int, v int64) []int64 {
	if more := i + 1 - len(list); more > 0 {
		list = append(list, make([]int64, more)...)
	}
	list[i] = v
	return list
}

func get(list []int64, i int) int64 {
	if i >= len(list) {
		return 0
	}
	return list[i]
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
func delivered(all []*reader, committed map[int]int64) Delivered {
	delete(committed, 0)
	d := Delivered{Readers: len(all), Events: len(committed)}
	var fromCommit, fromCall []time.Duration
	for _, r := range all {
		d.Astray += r.astray
		for index, at := range committed {
			arrived := get(r.arrived, index)
			if arrived == 0 {
				d.Missing++
				continue
			}
			fromCommit = append(fromCommit, time.Duration(arrived-at)*time.Microsecond)
			if wrote := get(all[0].written, index); wrote > 0 {
				fromCall = append(fromCall, time.Duration(arrived-wrote)*time.Microsecond)
			}
		}
	}
	slices.Sort(fromCommit)
	slices.Sort(fromCall)
	d.Commit50, d.Commit99, d.CommitMost = quantile(fromCommit, 0.5), quantile(fromCommit, 0.99), quantile(fromCommit, 1)
	d.Written50, d.Written99 = quantile(fromCall, 0.5), quantile(fromCall, 0.99)
	return d
}
