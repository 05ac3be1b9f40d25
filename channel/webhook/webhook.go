// Package webhook is a channel for every program that can sign what it sends: JSON, POSTed to /channels/webhook/in with
//
//	X-Signature: sha256=<hex HMAC-SHA256 of the body>
//	X-Delivery-Id: <the same for the same delivery, however often it is sent>
//
// A channel that requires timestamps wants X-Timestamp, in seconds since 1970, and the signature over "<timestamp>.<body>".
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/channel/internal/hook"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
)

// Inbox is where messages go: a *svc.Runtime, or a svc.Scoped.
type Inbox interface {
	Dispatch(ctx context.Context, agent, id string, p svc.Prompt) (svc.Prompted, error)
}

// Config is what the channel is made of. Secret, Inbox and Agent are needed.
type Config struct {
	// Name is the channel's, in its path. Defaults to webhook.
	Name string
	// Secret finds the secrets; any of them holds, so that one can take over from another. An empty one never does.
	Secret func(ctx context.Context) ([][]byte, error)
	// Inbox takes the messages.
	Inbox Inbox
	// Agent is the name of the one that they are for.
	Agent string
	// RequireTimestamp refuses what was not signed within five minutes of now. Defaults to false: a delivery that has an id
	// is known by it for 7 days, but the id itself is not signed.
	RequireTimestamp bool
	// Map makes a message of a body that is JSON, and names the instance it is for; empty: one of its own, named by the
	// delivery. Defaults to Map.
	Map func(body []byte) (instance string, m conversation.Message, err error)
	// MaxBody is the largest body in bytes. Defaults to 1 MiB.
	MaxBody int64
	// Now is the clock that timestamps are held to. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no sender is told. Defaults to slog.Default().
	Log *slog.Logger
}

// New makes the channel. It panics if something needed is missing.
func New(c Config) *svc.Channel {
	if c.Map == nil {
		c.Map = Map
	}
	return hook.New(hook.Config{
		Name: cmp.Or(c.Name, "webhook"), Path: "/in", Secret: c.Secret, Inbox: c.Inbox, Agent: c.Agent,
		MaxBody: cmp.Or(max(c.MaxBody, 0), 1<<20), Now: c.Now, Log: c.Log,
	}, provider{timed: c.RequireTimestamp, read: c.Map})
}

// Map is what a body means by default. Of an object with a text, {"instance": "42", "text": "Hello"}, the text is the
// message; instance may be left out, and other members are dropped. Any other JSON is the message as it is, cut where it is
// too long.
func Map(body []byte) (instance string, m conversation.Message, err error) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // what is no object has no fields
	if raw, ok := fields["instance"]; ok && !isString(raw, &instance) {
		return "", m, fault.Invalid("instance is not a string.")
	}
	m = conversation.Message{Kind: conversation.KindSignal, Type: "webhook.message", TagName: "webhook"}
	if isString(fields["text"], &m.Body) {
		return instance, m, nil
	}
	m.Type = "webhook.event"
	var cut bool
	if m.Body, cut = hook.Compact(body); cut {
		m.Attributes = hook.Attributes("truncated", "true")
	}
	return instance, m, nil
}

func isString(raw json.RawMessage, s *string) bool {
	return bytes.HasPrefix(raw, []byte{'"'}) && json.Unmarshal(raw, s) == nil
}

type provider struct {
	timed bool
	read  func(body []byte) (string, conversation.Message, error)
}

func (p provider) Signature(h http.Header, now time.Time) (hook.Signature, error) {
	var s hook.Signature
	if p.timed {
		at, err := hook.Timestamp(h, "X-Timestamp", now)
		if err != nil {
			return s, err
		}
		s.Prefix = at + "."
	}
	var err error
	s.MAC, err = hook.MAC(h, "X-Signature", "sha256=")
	return s, err
}

func (p provider) Read(h http.Header, body []byte) (hook.Delivery, error) {
	key, err := deliveryID(h, body)
	if err != nil {
		return hook.Delivery{}, err
	}
	var v json.RawMessage
	if err := json.Unmarshal(body, &v); err != nil {
		return hook.Delivery{}, hook.NotJSON(err)
	}
	instance, message, err := p.read(body)
	if err != nil {
		return hook.Delivery{}, misread(err)
	}
	// The key stands for the body as it came: another Map may make another message of it.
	return hook.Delivery{Instance: cmp.Or(instance, key), Prompt: svc.Prompt{Message: message, Key: key, Body: body}}, nil
}

// deliveryID is what the sender calls the delivery. One that has no name is named by its body: the same body is the same
// delivery.
func deliveryID(h http.Header, body []byte) (string, error) {
	if len(h.Values("X-Delivery-Id")) > 0 {
		return hook.Header(h, "X-Delivery-Id")
	}
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// misread is a body that Map could make nothing of: its sender's fault, and only a fault's own words are told.
func misread(err error) error {
	if _, told := errors.AsType[*fault.Error](err); told {
		return err
	}
	return fault.Invalid("The body could not be read as a message.").Because(err)
}
