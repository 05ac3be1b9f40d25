// Package modeltest is the law of model.Provider as a suite, and servers that answer as the providers do: they refuse a
// request that the service would refuse, stream what a test wants said, and fail as services fail. Package internal/peers
// holds the providers' own clients against them.
package modeltest

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/model"
)

// API is a wire format that a Server speaks.
type API string

// The wire formats.
const (
	Anthropic API = "anthropic"        // Messages
	Responses API = "openai-responses" // Responses
	Chat      API = "openai-chat"      // Chat Completions
	Google    API = "google"           // streamGenerateContent
)

// Key is the only key that a Server takes.
const Key = "sk-test-0123456789abcdef"

// Reply is what a Server answers. The zero Reply says hello.
type Reply struct {
	Reasoning []string         // the deltas of the reasoning, before all else
	Signature string           // of the reasoning, in base64
	Text      []string         // the deltas of the text
	Calls     []model.ToolCall // after the text; their arguments are sent in small pieces where the format allows it
	Reason    model.StopReason // empty: ToolUse with calls, else Stop
	Usage     model.Usage      // zero: DefaultUsage

	Fault  *Fault        // what is refused
	Raw    string        // sent in place of the stream
	Cut    int           // cuts the connection after so many bytes of the stream; zero: never
	Split  bool          // sends every byte by itself
	Delay  time.Duration // before the first byte of the stream
	Silent bool          // leaves out its end, and says nothing more until the client leaves
}

// DefaultUsage is what a turn counts, where a Reply does not say. A format without a count of cache writes leaves it out.
var DefaultUsage = model.Usage{Input: 11, Output: 7, CacheRead: 5, CacheWrite: 3}

// Fault is a refusal.
type Fault struct {
	Kind   Kind
	Header http.Header // of the answer: Retry-After and the like
	Midway bool        // comes within the stream, after what the Reply says
}

// Kind is what is wrong.
type Kind string

// The kinds of faults.
const (
	RateLimit  Kind = "rate limit"
	Overload   Kind = "overload"
	Breakdown  Kind = "breakdown"
	WrongKey   Kind = "wrong key"
	TooLong    Kind = "too long"
	BadRequest Kind = "bad request"
)

// Server answers requests in one wire format.
type Server struct {
	URL string // as the provider's own clients take it

	dialect dialect
	answer  func(Request) Reply
	left    chan struct{}

	mu       sync.Mutex
	requests []Request
}

// Request is one that a Server got, refused or not.
type Request struct {
	Header http.Header
	Body   []byte
}

// dialect is one wire format.
type dialect struct {
	base string // what follows the server's own address in the one that clients are given
	key  string // the header that brings the key
	tail int    // how many events at the end of a stream tell that all is well

	check  func(r *http.Request, q object) error    // why the service would refuse the request
	frames func(r Reply, modelName string) []string // the stream, one event each
	faults map[Kind]wording
	refuse func(w wording) object // the body of a refusal
	midway func(w wording) string // the event of a refusal within a stream
}

// wording is how a service words a fault. More is what only one of them says.
type wording struct {
	status        int
	code, message string
	more          any
}

var dialects = map[API]dialect{Anthropic: messagesAPI, Responses: responsesAPI, Chat: chatAPI, Google: googleAPI}

// NewServer answers with the replies one after the other, and with the last again and again. It is closed with the test.
func NewServer(t testing.TB, api API, replies ...Reply) *Server {
	return Answering(t, api, inOrder(replies))
}

func inOrder(replies []Reply) func(Request) Reply {
	if len(replies) == 0 {
		replies = []Reply{{}}
	}
	return func(Request) Reply {
		reply := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return reply
	}
}

// Answering answers each request with what a function says, one after the other. It is closed with the test.
func Answering(t testing.TB, api API, answer func(Request) Reply) *Server {
	s := &Server{dialect: dialects[api], answer: answer, left: make(chan struct{}, 16)}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL + s.dialect.base
	return s
}

// Stream is what a Server sends for a reply that has no fault.
func Stream(api API, r Reply) string {
	return strings.Join(dialects[api].frames(whole(r), "test"), "")
}

// Say has the server answer with these replies from now on, as NewServer does.
func (s *Server) Say(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = inOrder(replies)
}

// Requests are those that the server got so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Left is sent to when a client leaves a stream before its end.
func (s *Server) Left() <-chan struct{} { return s.left }

func (s *Server) next(r Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return s.answer(r)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	reply := s.next(Request{r.Header, body})
	if key := strings.TrimPrefix(r.Header.Get(s.dialect.key), "Bearer "); key != Key {
		s.refuse(w, &Fault{Kind: WrongKey}, "the key "+key+" is unknown")
		return
	}
	q, err := readBody(r, body)
	if err == nil {
		err = s.dialect.check(r, q)
	}
	if err != nil {
		s.refuse(w, &Fault{Kind: BadRequest}, err.Error())
		return
	}
	if reply.Fault != nil && !reply.Fault.Midway {
		s.refuse(w, reply.Fault, "")
		return
	}
	s.stream(w, r, reply, q.text("model"))
}

func (s *Server) refuse(w http.ResponseWriter, f *Fault, why string) {
	maps.Copy(w.Header(), f.Header)
	said := s.dialect.faults[f.Kind]
	said.message = cmp.Or(why, said.message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(said.status)
	_, _ = io.WriteString(w, encode(s.dialect.refuse(said)))
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, reply Reply, modelName string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := &pen{w: w, cut: reply.Cut, split: reply.Split}
	out.flush()
	if !s.wait(r, reply.Delay) {
		return
	}
	for _, frame := range s.all(reply, modelName) {
		if r.Context().Err() != nil || !out.write(frame) {
			s.leave()
			return
		}
	}
	if reply.Silent {
		<-r.Context().Done()
		s.leave()
	}
	if reply.Cut > 0 {
		cut()
	}
}

// all is the whole stream.
func (s *Server) all(reply Reply, modelName string) []string {
	if reply.Raw != "" {
		return []string{reply.Raw}
	}
	frames := s.dialect.frames(whole(reply), modelName)
	said := frames[:len(frames)-s.dialect.tail]
	switch {
	case reply.Silent:
		return said
	case reply.Fault != nil:
		return append(said, s.dialect.midway(s.dialect.faults[reply.Fault.Kind]))
	}
	return frames
}

func whole(r Reply) Reply {
	if r.Reasoning == nil && r.Text == nil && r.Calls == nil {
		r.Text = []string{"Hel", "lo"}
	}
	if r.Usage == (model.Usage{}) {
		r.Usage = DefaultUsage
	}
	if r.Reason == "" {
		r.Reason = model.Stop
		if len(r.Calls) > 0 {
			r.Reason = model.ToolUse
		}
	}
	return r
}

func (s *Server) wait(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		s.leave()
		return false
	}
}

func (s *Server) leave() {
	select {
	case s.left <- struct{}{}:
	default:
	}
}

// pen writes a stream as a network may deliver it.
type pen struct {
	w       http.ResponseWriter
	cut     int
	split   bool
	written int
}

func (p *pen) flush() { _ = http.NewResponseController(p.w).Flush() }

// write reports whether the client is still there.
func (p *pen) write(frame string) bool {
	for frame != "" {
		n := len(frame)
		if p.split {
			n = 1
		}
		if p.cut > 0 {
			if p.written == p.cut {
				cut()
			}
			n = min(n, p.cut-p.written)
		}
		if _, err := io.WriteString(p.w, frame[:n]); err != nil {
			return false
		}
		p.flush()
		p.written += n
		frame = frame[n:]
	}
	return true
}

// cut breaks the connection: the client finds the answer unfinished.
func cut() { panic(http.ErrAbortHandler) }

// serve is a server of any kind. It reads the request first: a server that does not cannot tell that its client left.
func serve(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
