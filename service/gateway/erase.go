package gateway

import (
	"net/http"
	"net/url"

	"svc.dev/svc/service/audit"
)

func (x *exchange) eraseRun() error {
	id := x.params["run"]
	return x.erase(runPath, url.Values{"run": {id}}, audit.Event{Action: "run.erased", Target: audit.Target{Kind: "run", ID: id}})
}

func (x *exchange) eraseConversation() error {
	agent, instance := x.params["name"], x.params["instance"]
	return x.erase(conversationPath, url.Values{"agent": {agent}, "id": {instance}}, audit.Event{
		Action: "conversation.erased", Target: audit.Target{Kind: "conversation", ID: agent + "/" + instance},
	})
}

// erase destroys something of a workspace in the runtime. What is there to be erased is told before it is: what cannot be told
// is not done.
func (x *exchange) erase(path string, of url.Values, e audit.Event) error {
	c := x.v.Claims(x.id)
	of.Set("there", "")
	if _, err := x.tell(c, http.MethodGet, path, of); err != nil {
		return err
	}
	of.Del("there")
	e.Actor, e.Scope, e.Service = x.v.Actor(), c.Scope, x.surface == Admin
	if err := x.g.Accounts.Note(x.ctx(), e); err != nil {
		return err
	}
	x.r.URL.RawQuery = of.Encode()
	return x.forward(errand{claims: c, path: path, header: allowed(x.r.Header)})
}
