// Package slack is Slack's Events API as a channel: what people write is dispatched to an agent, a conversation for each
// thread. Set /channels/slack/events as the request URL.
//
// Someone who mentions the app in a channel that it also listens to is told of twice, by an app_mention and by a message,
// under two ids. Subscribe to app_mention and message.im, or to message.channels.
package slack

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/channel/internal/hook"
)

// Inbox is where messages go: a *svc.Runtime, or a svc.Scoped.
type Inbox interface {
	Dispatch(ctx context.Context, agent, id string, p svc.Prompt) (svc.Prompted, error)
}

// Config is what the channel is made of. Secret, Inbox and Agent are needed.
type Config struct {
	// Name is the channel's, in its path. Defaults to slack.
	Name string
	// Secret finds the app's signing secrets; any of them holds, so that one can take over from another. An empty one never
	// does.
	Secret func(ctx context.Context) ([][]byte, error)
	// Inbox takes the messages.
	Inbox Inbox
	// Agent is the name of the one that they are for.
	Agent string
	// Instance names the conversation that an event belongs to. Defaults to Event.Instance.
	Instance func(Event) string
	// MaxBody is the largest body in bytes. Defaults to 1 MiB.
	MaxBody int64
	// Now is the clock that timestamps are held to. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no sender is told. Defaults to slog.Default().
	Log *slog.Logger
}

// New makes the channel. It panics if something needed is missing.
func New(c Config) *svc.Channel {
	if c.Instance == nil {
		c.Instance = Event.Instance
	}
	return hook.New(hook.Config{
		Name: cmp.Or(c.Name, "slack"), Path: "/events", Secret: c.Secret, Inbox: c.Inbox, Agent: c.Agent,
		MaxBody: cmp.Or(max(c.MaxBody, 0), 1<<20), Now: c.Now, Log: c.Log,
	}, provider{instance: c.Instance})
}

type provider struct {
	instance func(Event) string
}

func (provider) Signature(h http.Header, now time.Time) (hook.Signature, error) {
	at, err := hook.Timestamp(h, "X-Slack-Request-Timestamp", now)
	if err != nil {
		return hook.Signature{}, err
	}
	mac, err := hook.MAC(h, "X-Slack-Signature", "v0=")
	return hook.Signature{MAC: mac, Prefix: "v0:" + at + ":"}, err
}

func (p provider) Read(_ http.Header, body []byte) (hook.Delivery, error) {
	c, err := parse(body)
	switch {
	case err != nil:
		return hook.Delivery{}, err
	case c.Type == "url_verification":
		return hook.Delivery{Reply: &hook.Reply{Status: http.StatusOK, Body: map[string]string{"challenge": c.Challenge}}}, nil
	case c.Type != "event_callback":
		return hook.Ignored("not an event"), nil
	case c.Event.BotID != "" || c.Event.Subtype == "bot_message":
		return hook.Ignored("a bot's message"), nil
	case !c.spoken():
		return hook.Ignored("nobody wrote anything"), nil
	}
	e, err := c.event()
	if err != nil {
		return hook.Delivery{}, err
	}
	return hook.Delivery{
		Instance: p.instance(e),
		// Slack promises the id of an event to stay the same when it tries again, and nothing about the bytes around it.
		Prompt: svc.Prompt{Message: e.Message(), Key: e.ID, Body: []byte(e.ID), By: hook.By("slack", e.User)},
	}, nil
}
