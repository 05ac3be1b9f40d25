// Package github is GitHub as a channel: what happens in a repository is dispatched to an agent, a conversation for each
// issue and pull request. Set a webhook of the content type application/json to /channels/github/events.
//
// A delivery of GitHub carries no time, so what protects from one that is sent again is the id of the delivery alone.
package github

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/channel/internal/hook"
	"svc.dev/svc/fault"
)

// Inbox is where messages go: a *svc.Runtime, or a svc.Scoped.
type Inbox interface {
	Dispatch(ctx context.Context, agent, id string, p svc.Prompt) (svc.Prompted, error)
}

// Config is what the channel is made of. Secret, Inbox and Agent are needed.
type Config struct {
	// Name is the channel's, in its path. Defaults to github.
	Name string
	// Secret finds the webhook's secrets; any of them holds, so that one can take over from another. An empty one never does.
	Secret func(ctx context.Context) ([][]byte, error)
	// Inbox takes the messages.
	Inbox Inbox
	// Agent is the name of the one that they are for.
	Agent string
	// App is the name of the GitHub App that the agent acts as: what its bot does is ignored, so that nobody talks to
	// themselves. Defaults to none.
	App string
	// Instance names the conversation that an event belongs to. Defaults to Event.Instance.
	Instance func(Event) string
	// Accept chooses the events that the agent is told of; all others are answered and left at that. Defaults to every one.
	Accept func(Event) bool
	// MaxBody is the largest body in bytes. Defaults to 25 MiB, more than GitHub sends.
	MaxBody int64
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no sender is told. Defaults to slog.Default().
	Log *slog.Logger
}

// New makes the channel. It panics if something needed is missing.
func New(c Config) *svc.Channel { return hook.New(c.hook()) }

// Handler takes the deliveries of an app whose signature was checked where they arrived: it checks none, and needs no
// Secret. It stands only where nobody but that place can send to it. It panics if something needed is missing.
func Handler(c Config) http.Handler { return hook.Believed(c.hook()) }

// hook is the configuration with its defaults, as all webhooks have it.
func (c Config) hook() (hook.Config, provider) {
	if c.Instance == nil {
		c.Instance = Event.Instance
	}
	if c.Accept == nil {
		c.Accept = func(Event) bool { return true }
	}
	return hook.Config{
		Name: cmp.Or(c.Name, "github"), Path: "/events", Secret: c.Secret, Inbox: c.Inbox, Agent: c.Agent,
		MaxBody: cmp.Or(max(c.MaxBody, 0), 25<<20), Now: c.Now, Log: c.Log,
	}, provider{app: c.App, instance: c.Instance, accept: c.Accept}
}

type provider struct {
	app      string
	instance func(Event) string
	accept   func(Event) bool
}

func (provider) Signature(h http.Header, _ time.Time) (hook.Signature, error) {
	mac, err := hook.MAC(h, "X-Hub-Signature-256", "sha256=")
	return hook.Signature{MAC: mac}, err
}

var eventName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func (p provider) Read(h http.Header, body []byte) (hook.Delivery, error) {
	name, err := hook.Header(h, "X-GitHub-Event")
	if err != nil {
		return hook.Delivery{}, err
	}
	if !eventName.MatchString(name) {
		return hook.Delivery{}, fault.Invalid("X-GitHub-Event is not the name of an event.")
	}
	delivery, err := hook.Header(h, "X-GitHub-Delivery")
	if err != nil {
		return hook.Delivery{}, err
	}
	e, err := Parse(name, delivery, body)
	switch {
	case err != nil:
		return hook.Delivery{}, err
	case name == "ping":
		return hook.Delivery{Reply: &hook.Reply{Status: http.StatusOK, Body: map[string]bool{"ok": true}}}, nil
	case p.own(e):
		return hook.Ignored("an event of our own"), nil
	case !p.accept(e):
		return hook.Ignored("an event that the agent is not told of"), nil
	}
	return hook.Delivery{
		Instance: p.instance(e),
		// The key stands for the body as it came: another version of us may make another message of it.
		Prompt: svc.Prompt{Message: e.Message(), Key: delivery, Body: body, By: hook.By("github", e.Sender)},
	}, nil
}

// own reports whether the app's bot is who did it.
func (p provider) own(e Event) bool {
	return p.app != "" && e.Bot && strings.EqualFold(strings.TrimSuffix(e.Sender, "[bot]"), p.app)
}
