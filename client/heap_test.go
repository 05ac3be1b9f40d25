package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"svc.dev/svc/client"
	"svc.dev/svc/stream"
)

// flood is a server whose stream has many items, in pages of a hundred. It holds no more than one of them, so that the heap is the
// client's.
func flood(t testing.TB, items int, item func(page []byte, i stream.Offset) []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := stream.ParseLoose(r.URL.Query().Get("offset"))
		live := r.URL.Query().Get("live") == stream.LiveSSE
		if live {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		for page := make([]byte, 0, 32<<10); ; {
			next := min(at+100, stream.Offset(items-1))
			closed := int(next) == items-1
			if page = page[:0]; live {
				page = append(page, "event: data\ndata:"...)
			}
			page = append(page, '[')
			for i := at + 1; i <= next; i++ {
				page = append(item(page, i), ',')
			}
			page = append(page[:len(page)-1], ']')
			if !live {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set(stream.HeaderNextOffset, next.String())
				w.Header().Set(stream.HeaderClosed, strconv.FormatBool(closed))
				w.Header().Set("Content-Length", strconv.Itoa(len(page)))
				_, _ = w.Write(page)
				return
			}
			page = stream.AppendControl(append(page, "\n\n"...), next, "", closed, closed)
			if _, err := w.Write(page); err != nil || closed {
				return
			}
			at = next
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// heap is what is held now.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyEventsTakeNoMoreMemoryThanFew measures the heap while a hundred thousand events are read.
func TestManyEventsTakeNoMoreMemoryThanFew(t *testing.T) {
	const events = 100_000
	text := strings.Repeat("x", 100)
	url := flood(t, events, func(page []byte, i stream.Offset) []byte {
		return fmt.Appendf(page, `{"type":"log","level":"info","message":%q,"runId":"r","v":3,"eventIndex":%d,"timestamp":"2026-07-01T12:00:00.000Z"}`, text, i)
	})
	for _, live := range []client.Live{client.SSE, client.LongPoll, client.CatchUp} {
		n, least, most := 0, uint64(1<<62), uint64(0)
		for e, err := range ask(t, url).Runs.Stream(t.Context(), "r", client.StreamOptions{Live: live}) {
			if err != nil || e.Index != int64(n) {
				t.Fatalf("event %d, want %d, %v", e.Index, n, err)
			}
			if n++; n%10_000 == 0 {
				size := heap()
				least, most = min(least, size), max(most, size)
			}
		}
		t.Logf("%s: %d to %d KiB", live, least>>10, most>>10)
		if n != events || most-least > 1<<20 {
			t.Errorf("%s: %d events, between %d and %d bytes", live, n, least, most)
		}
	}
}

// TestManyUpdatesTakeNoMoreMemoryThanWhatTheyMake follows a reply that says little in a hundred thousand updates.
func TestManyUpdatesTakeNoMoreMemoryThanWhatTheyMake(t *testing.T) {
	const updates = 100_000
	url := flood(t, updates, func(page []byte, i stream.Offset) []byte {
		if i == 0 {
			return append(page, `{"type":"message-started","conversationId":"c","messageId":"m","timestamp":"2026-07-01T12:00:00.000Z","position":{"batch":0,"index":0}}`...)
		}
		return fmt.Appendf(page, `{"type":"message-delta","conversationId":"c","messageId":"m","kind":"text","delta":"x","position":{"batch":%d,"index":0}}`, i)
	})
	from := &client.Conversation{V: client.SnapshotVersion, ID: "c", Offset: client.Start}
	var last *client.Conversation
	least, most, pages := uint64(1<<62), uint64(0), 0
	for seen, err := range ask(t, url).Agents.Observe(t.Context(), "a", "i", client.ObserveOptions{From: from}) {
		if err != nil {
			t.Fatal(err)
		}
		if last = seen.Conversation; len(seen.Updates) > 0 {
			pages++
		}
		if pages%100 == 99 {
			size := heap()
			least, most = min(least, size), max(most, size)
		}
		if seen.Live {
			break
		}
	}
	t.Logf("%d to %d KiB", least>>10, most>>10)
	if got := len(last.Messages[0].Text()); got != updates-1 || most-least > 1<<20 {
		t.Errorf("%d characters, between %d and %d bytes", got, least, most)
	}
}

// TestWhatIsTooLongIsNotHeld refuses frames, pages and snapshots that pass the limit, without reading them to their end.
func TestWhatIsTooLongIsNotHeld(t *testing.T) {
	url := flood(t, 1000, func(page []byte, i stream.Offset) []byte {
		return fmt.Appendf(page, `{"type":"log","message":%q,"runId":"r","v":3,"eventIndex":%d,"timestamp":"2026-07-01T12:00:00.000Z"}`, strings.Repeat("x", 1000), i)
	})
	c := ask(t, url, func(config *client.Config) { config.MaxFrame = 50_000 })
	for _, live := range []client.Live{client.Auto, client.SSE, client.LongPoll, client.CatchUp} {
		for _, err := range c.Runs.Stream(t.Context(), "r", client.StreamOptions{Live: live}) {
			if !client.Is(err, client.FrameTooLarge) {
				t.Fatalf("%s: %v", live, err)
			}
		}
	}
	if _, err := c.Runs.Get(t.Context(), "r"); !client.Is(err, client.FrameTooLarge) {
		t.Errorf("an answer: %v", err)
	}
}
