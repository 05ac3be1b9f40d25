package engine

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/channel/github"
	"svc.dev/svc/fault"
	"svc.dev/svc/service/scope"
)

// GitHub is the name of the channel that every workspace has: a person who writes in a repository talks to the central
// agent, in a conversation for each issue and pull request.
const GitHub = "github"

// gitHub is the channel on a runtime. Its deliveries come from two sides. What a customer has set on a repository by hand
// comes to the channel's own path, signed with a secret of the workspace. What the service's app is told was signed for the
// service, and believed at its webhook; the gateway passes it on to a path that only the gateway asks.
func gitHub(rt *svc.Runtime, log *slog.Logger) github.Config {
	return github.Config{
		Name: GitHub, Agent: Central, Inbox: inbox{rt}, Secret: noSecret, Accept: spoken, Instance: subject, Log: log,
	}
}

// Channel is a channel as listed.
type Channel struct {
	Name   string         `json:"name"`
	Source string         `json:"source" enum:"built-in project"`
	Routes []ChannelRoute `json:"routes"`
}

// ChannelRoute is one way in: a method, and a path below {base_url}.
type ChannelRoute struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// channelsOf are the channels that a request asks for. Webhooks do not reach the staff's own workspace.
func (e *Engine) channelsOf(r *http.Request) []Channel {
	items := []Channel{}
	for _, c := range e.Runtime.Channels() {
		if !matches(r, c.Name) || claims(r).Scope == scope.Admin {
			continue
		}
		item := Channel{Name: c.Name, Source: e.sourceOf("channels", c.Name), Routes: []ChannelRoute{}}
		for _, route := range c.Routes {
			item.Routes = append(item.Routes, ChannelRoute{route.Method, "/channels/" + c.Name + route.Path})
		}
		items = append(items, item)
	}
	return items
}

// noSecret holds for nobody: no workspace can set a secret of its own yet.
func noSecret(context.Context) ([][]byte, error) { return nil, nil }

// inbox dispatches to the workspace of the claims that were let in, if there is room for more.
type inbox struct{ rt *svc.Runtime }

func (b inbox) Dispatch(ctx context.Context, agent, id string, p svc.Prompt) (svc.Prompted, error) {
	c, ok := scope.From(ctx)
	if !ok {
		return svc.Prompted{}, fault.New(fault.InvalidScope, "The scope is not well formed.", "")
	}
	if err := admit(ctx); err != nil {
		return svc.Prompted{}, err
	}
	p.By = c.By().String() // what a provider calls people is nobody here
	return b.rt.In(c.Scope).Dispatch(ctx, agent, id, p)
}

// spoken reports whether an event is a person's words about an issue or a pull request. What bots write is not answered:
// two of them would go on for ever.
func spoken(e github.Event) bool {
	return e.Text != nil && !e.Bot && e.Number > 0 && strings.Count(e.Repository, "/") == 1
}

// subject names a conversation after its issue or pull request. Colons stand in no name of GitHub, so no two subjects share
// a conversation, and unlike slashes they pass through the gateway; GitHub takes names in any case as the same.
func subject(e github.Event) string {
	return GitHub + ":" + strings.ToLower(strings.Replace(e.Repository, "/", ":", 1)) + ":" + strconv.FormatInt(e.Number, 10)
}

// deliveryTimes is what a delivery takes beside its body, which the gateway may hold in this process: read again, and taken
// apart.
const deliveryTimes = 3

// deliver takes what the gateway passes on of the service's own webhook. The path is none that anybody outside can ask for,
// and the actor tells that it was the gateway's own doing.
func (e *Engine) deliver(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost || claims(r).Actor != scope.Channel(GitHub) {
		return noRoute(r)
	}
	r, done := e.Runtime.In(claims(r).Scope).Counted(r, deliveryTimes)
	defer done()
	e.gitHub.ServeHTTP(w, r)
	return nil
}
