// Package hook is what webhook channels share: who may come in, how much of it is read, and what a sender is answered. A
// provider says how its requests are signed and what they mean; nothing in a body is believed before its signature holds.
package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// Inbox is where a message goes. The context is that of the request.
type Inbox interface {
	Dispatch(ctx context.Context, agent, id string, p svc.Prompt) (svc.Prompted, error)
}

// Config is what every channel is made of.
type Config struct {
	Name    string
	Path    string
	Secret  func(ctx context.Context) ([][]byte, error)
	Inbox   Inbox
	Agent   string
	MaxBody int64
	Now     func() time.Time // Defaults to time.Now.
	Log     *slog.Logger     // Defaults to slog.Default().
}

// Provider is what tells one channel from another.
type Provider interface {
	// Signature is what the headers claim, at a time, about a body that is not read yet.
	Signature(h http.Header, now time.Time) (Signature, error)
	// Read says what a body means whose signature holds.
	Read(h http.Header, body []byte) (Delivery, error)
}

// Delivery is what a request asks for: a prompt for an instance, or no more than a reply.
type Delivery struct {
	Instance string
	Prompt   svc.Prompt
	Reply    *Reply // set: nothing is dispatched
}

// Reply is an answer in JSON.
type Reply struct {
	Status int
	Body   any
}

// Ignored is a delivery that is well and means nothing to the agent.
func Ignored(why string) Delivery {
	return Delivery{Reply: &Reply{Status: http.StatusAccepted, Body: map[string]string{"ignored": why}}}
}

// By names somebody whom only the provider knows, so that no name of theirs is one of ours; empty: nobody is known.
func By(provider, name string) string {
	if name == "" {
		return ""
	}
	return provider + ":" + name
}

// New makes a channel of one route. It panics for one that could not be served.
func New(c Config, p Provider) *svc.Channel {
	if c.Secret == nil {
		panic("channel " + c.Name + ": Config.Secret is missing")
	}
	return &svc.Channel{Name: c.Name, Routes: []svc.ChannelRoute{
		{Method: http.MethodPost, Path: c.Path, Handler: newHook(c, p)},
	}}
}

// Believed takes requests whose sender was believed before they come here: it asks for no signature and no secret. It
// panics for what could not be served.
func Believed(c Config, p Provider) http.Handler {
	h := newHook(c, p)
	h.believes = true
	return h
}

type hook struct {
	Config
	provider Provider
	believes bool // whoever comes here
}

func newHook(c Config, p Provider) *hook {
	switch {
	case c.Inbox == nil:
		panic("channel " + c.Name + ": Config.Inbox is missing")
	case c.Agent == "":
		panic("channel " + c.Name + ": Config.Agent is missing")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	return &hook{Config: c, provider: p}
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, err := h.receive(w, r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if d.Reply != nil {
		answer(w, d.Reply.Status, d.Reply.Body)
		return
	}
	receipt, err := h.Inbox.Dispatch(r.Context(), h.Agent, d.Instance, d.Prompt)
	if err != nil {
		h.refuse(w, r, fmt.Errorf("dispatch: %w", err))
		return
	}
	accepted(w, receipt)
}

// receive reads a request. What can be refused by its headers is refused before its body is read.
func (h *hook) receive(w http.ResponseWriter, r *http.Request) (Delivery, error) {
	if err := checkMediaType(r); err != nil {
		return Delivery{}, err
	}
	body, err := h.believe(w, r)
	if err != nil {
		return Delivery{}, err
	}
	d, err := h.provider.Read(r.Header, body)
	if err == nil && d.Reply == nil {
		err = checkInstance(d.Instance)
	}
	return d, err
}

// believe reads a body that its signature holds for, or refuses it.
func (h *hook) believe(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if h.believes {
		return h.body(w, r)
	}
	signature, err := h.provider.Signature(r.Header, h.Now())
	if err != nil {
		return nil, err
	}
	secrets, err := h.Secret(r.Context())
	if err != nil {
		return nil, fmt.Errorf("find secret: %w", err)
	}
	if len(secrets) == 0 {
		return nil, Unsigned("") // nothing can hold: nobody's body is read for that
	}
	body, err := h.body(w, r)
	if err == nil && !signature.Holds(secrets, body) {
		err = Unsigned("")
	}
	return body, err
}

func checkMediaType(r *http.Request) error {
	sent := strings.Join(r.Header.Values("Content-Type"), ", ")
	if media, _, err := mime.ParseMediaType(sent); err != nil || media != "application/json" {
		return fault.New(fault.UnsupportedMediaType, "The body must be JSON.", fmt.Sprintf("Received %q.", sent))
	}
	return nil
}

func (h *hook) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.MaxBody {
		return nil, tooLarge(h.MaxBody)
	}
	body, err := memory.ReadAll(http.MaxBytesReader(w, r.Body, h.MaxBody), r.ContentLength)
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(e.Limit)
	}
	switch {
	case errors.Is(err, memory.ErrTooLarge):
		return nil, tooLarge(h.MaxBody)
	case errors.Is(err, memory.ErrFull):
		return nil, fault.NotAvailable("busy").Because(err)
	case err != nil:
		return nil, NotJSON(errors.New("the body ended early")).Because(err)
	}
	return body, nil
}

// maxInstance is the longest name of an instance, in bytes, that a sender may choose.
const maxInstance = 255

func checkInstance(id string) error {
	if len(id) > maxInstance || strings.ContainsFunc(id, unicode.IsControl) {
		return fault.Invalid("The instance is longer than %d bytes or holds control characters.", maxInstance)
	}
	return nil
}
