package offer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

const (
	sessionHeader   = "Mcp-Session-Id"
	methodCancelled = "notifications/cancelled"

	// maxName is the longest text by which a client calls a session or a request, so that it can be cancelled.
	maxName = 200
	// Bounds of a message beside its length, as of the input of a workflow, which lies a little deeper here.
	maxValues = 1_000_000
	maxDepth  = 1_010
)

// received is a message as a client sent it, one at a time.
type received struct {
	method  string
	id      string // as it was written; empty: a notification
	params  json.RawMessage
	session string // by which the client says that requests are its own; empty: it does not
	body    []byte

	room *memory.Grant   // what it takes while it is taken apart
	gone context.Context // it ends when the client is not there any more
	out  *outlet
}

// checkHeader refuses what is no JSON.
func checkHeader(h http.Header) error {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return fault.New(fault.UnsupportedMediaType, "A message is application/json.", "")
	}
	return nil
}

// read takes a message in. Several at once are refused: each would be work of its own, under one count.
func (o *Offer) read(r *http.Request) (*received, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, o.MaxBody))
	if err != nil {
		return nil, unread(err)
	}
	if values, depth := memory.Shape(body); values > maxValues || depth > maxDepth {
		return nil, fault.New(fault.InvalidJSON, "The message has too many values, or lies too deep.", "")
	}
	m := &received{body: body, session: r.Header.Get(sessionHeader)}
	if !isLabel(m.session) {
		return nil, fault.Invalid("%s is too long, or no text.", sessionHeader)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' && json.Valid(body) {
			return nil, fault.Invalid("Send one message at a time.")
		}
		return nil, fault.New(fault.InvalidJSON, "The body is no JSON-RPC message.", "")
	}
	_ = json.Unmarshal(fields["method"], &m.method) // what is no text is no method
	m.id, m.params = string(fields["id"]), fields["params"]
	if !isLabel(m.id) {
		return nil, fault.Invalid("The id of the message is too long, or no text.")
	}
	return m, nil
}

// isLabel reports whether a text can be what a client calls something.
func isLabel(text string) bool {
	return len(text) <= maxName && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// unread is why a body was not read.
func unread(err error) error {
	if most, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.New(fault.BodyTooLarge, "The message is too large.", "").With("limitBytes", most.Limit)
	}
	if errors.Is(err, memory.ErrFull) || errors.Is(err, memory.ErrTooLarge) {
		return fault.NotAvailable("busy").Because(err)
	}
	return fault.Invalid("The body cannot be read.").Because(err)
}

// begins reports whether a client introduces itself. What it is called from then on is the beginning of nothing that is kept: it
// only tells its requests from those of others with the same key.
func (m *received) begins() bool { return m.method == "initialize" || m.method == "server/discover" }

type messageKey struct{}

// request is the request with the message in it.
func (m *received) request(r *http.Request) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), messageKey{}, m))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.body)), int64(len(m.body))
	return r
}

// messageOf is the message that is being answered.
func messageOf(ctx context.Context) *received {
	m, _ := ctx.Value(messageKey{}).(*received)
	return m
}

// outlet is an answer that can be kept alive while there is nothing to say. What is refused in plain text is held back, and told in
// the envelope of all other refusals.
type outlet struct {
	http.ResponseWriter
	mu      sync.Mutex
	refused int
	why     []byte
}

// WriteHeader lets the head out, but that of a refusal in plain text.
func (a *outlet) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.refused = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *outlet) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused != 0 {
		const most = 1 << 10
		a.why = append(a.why, b[:min(len(b), most-min(most, len(a.why)))]...)
		return len(b), nil
	}
	return a.ResponseWriter.Write(b)
}

// pulse keeps the connection of a stream alive. The first one lets the head out.
func (a *outlet) pulse() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.ResponseWriter.Write(stream.Heartbeat()) // a client that has gone needs none
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (a *outlet) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// refusal is what was held back, as a fault.
func (a *outlet) refusal() error {
	if a.refused == 0 {
		return nil
	}
	a.Header().Del("X-Content-Type-Options")
	return fault.New(fault.InvalidRequest, "The message is none of this protocol.", strings.ToValidUTF8(strings.TrimSpace(string(a.why)), "\ufffd"))
}
