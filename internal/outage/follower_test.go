package outage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/internal/critic"
	"svc.dev/svc/stream"
)

// follower is a client that reads a stream and goes on from its offset, whoever serves it.
type follower struct {
	path string // of the stream, with its query
	live string // sse or long-poll

	mu       sync.Mutex
	after    stream.Offset
	pages    []critic.Page
	closed   bool
	broken   int      // answers that ended early, or were none
	problems []string // answers that no client should get
}

func followAgent(agent, instance, live string) *follower {
	return &follower{path: "/agents/" + agent + "/" + instance + "?view=updates", live: live, after: stream.Start}
}

func followRun(id, live string) *follower {
	return &follower{path: "/runs/" + id + "?", live: live, after: stream.Start}
}

// follow reads until ctx ends or the stream closes, from one node after the other.
func (f *follower) follow(ctx context.Context, nodes ...*process) {
	for i := 0; ctx.Err() == nil && !f.isClosed(); i++ {
		if f.read(ctx, nodes[i%len(nodes)]) {
			continue
		}
		f.mu.Lock()
		f.broken++
		f.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (f *follower) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// at is the offset that has been reached.
func (f *follower) at() stream.Offset {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.after
}

// read asks a node once, and reports whether the answer was whole.
func (f *follower) read(ctx context.Context, p *process) bool {
	url := fmt.Sprintf("%s%s&offset=%s&live=%s", p.url, f.path, f.at(), f.live)
	url = strings.Replace(url, "?&", "?", 1)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	response, err := clients.Do(r)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusServiceUnavailable:
		return false
	case response.StatusCode >= 300:
		body, _ := io.ReadAll(response.Body)
		f.mu.Lock()
		f.problems = append(f.problems, fmt.Sprintf("GET /%s… to follow: %d %.300s", strings.Split(f.path, "/")[1], response.StatusCode, body))
		f.mu.Unlock()
		return false
	case f.live == "sse":
		return f.readEvents(response.Body)
	}
	return f.readPage(response)
}

// readEvents takes a page when its control frame has come.
func (f *follower) readEvents(body io.Reader) bool {
	var chunks []json.RawMessage
	for event, err := range stream.Events(body) {
		if err != nil {
			return false
		}
		if event.Name == "data" {
			if err := json.Unmarshal(event.Data, &chunks); err != nil {
				return false
			}
			continue
		}
		control, err := stream.ParseControl(event.Data)
		if err != nil {
			return false
		}
		next, err := stream.ParseLoose(control.NextOffset)
		if err != nil {
			return false
		}
		f.take(chunks, next, control.Closed)
		chunks = nil
	}
	return f.isClosed()
}

func (f *follower) readPage(response *http.Response) bool {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return false
	}
	var chunks []json.RawMessage
	if len(body) > 0 && json.Unmarshal(body, &chunks) != nil {
		return false
	}
	next, err := stream.ParseLoose(response.Header.Get("Stream-Next-Offset"))
	if err != nil {
		return false
	}
	f.take(chunks, next, response.Header.Get("Stream-Closed") == "true")
	return true
}

func (f *follower) take(chunks []json.RawMessage, next stream.Offset, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = f.closed || closed
	if next == f.after && len(chunks) == 0 {
		return
	}
	f.pages = append(f.pages, critic.Page{After: f.after, Next: next, Chunks: chunks})
	f.after = next
}

// seen are all chunks that came, in order.
func (f *follower) seen() (all []json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pages {
		all = append(all, p.Chunks...)
	}
	return all
}

// settles follows an instance until a submission has settled, and reports false when that takes too long.
func (f *follower) settles(limit time.Duration, p *process, submission string) bool {
	ctx, leave := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() { f.follow(ctx, p) })
	defer reading.Wait()
	defer leave()
	return eventually(limit, func() bool { return f.hasSettled(submission) })
}

func (f *follower) hasSettled(submission string) bool {
	for _, chunk := range f.seen() {
		if bytes.Contains(chunk, []byte("submission-settled")) && bytes.Contains(chunk, []byte(submission)) {
			return true
		}
	}
	return false
}
