package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
)

// personView is somebody as the staff see them.
type personView struct {
	accountView
	ServiceRole   string    `json:"serviceRole"`
	Suspended     bool      `json:"suspended"`
	SuspendReason string    `json:"suspendReason"`
	EraseAt       *iso.Time `json:"eraseAt"`
	LastSeenAt    *iso.Time `json:"lastSeenAt"`
	Sessions      int64     `json:"sessions"`
	Version       int64     `json:"version"`
	CreatedAt     iso.Time  `json:"createdAt"`
}

func viewPerson(p account.Person) personView {
	return personView{
		accountView: viewAccount(p.Account), ServiceRole: p.Role, Suspended: p.Suspended, SuspendReason: p.Reason, EraseAt: iso.Optional(p.EraseAt),
		LastSeenAt: iso.Optional(p.LastSeenAt), Sessions: p.Sessions, Version: p.Version, CreatedAt: iso.Time(p.CreatedAt),
	}
}

func (x *exchange) listEverybody() error {
	asked, err := x.asks()
	if err != nil {
		return err
	}
	all, err := x.g.Accounts.People(x.ctx(), account.PeopleQuery{Query: asked.query()})
	if err != nil {
		return err
	}
	answer := list[personView]{Items: make([]personView, 0, len(all.Items)), Next: all.Next}
	for _, p := range all.Items {
		answer.Items = append(answer.Items, viewPerson(p))
	}
	return x.list(answer)
}

// getPerson is somebody with the workspaces they work in.
func (x *exchange) getPerson() error {
	p, err := x.g.Accounts.Person(x.ctx(), x.params["id"])
	if err != nil {
		return err
	}
	all, err := x.g.Accounts.Workspaces(x.ctx(), p.ID)
	if err != nil {
		return err
	}
	workspaces := []membershipView{}
	for _, m := range all {
		workspaces = append(workspaces, membershipView{m.Business, m.Scope, m.Role})
	}
	return x.json(http.StatusOK, struct {
		personView
		Workspaces []membershipView `json:"workspaces"`
	}{viewPerson(p), workspaces})
}

func (x *exchange) suspendPerson() error {
	var body struct {
		Reason string `json:"reason"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writePerson(x.g.Accounts.SuspendPerson(x.ctx(), *x.who, x.params["id"], body.Reason))
}

func (x *exchange) restorePerson() error {
	return x.writePerson(x.g.Accounts.RestorePerson(x.ctx(), *x.who, x.params["id"]))
}

func (x *exchange) grantPerson() error {
	var body struct {
		Role string `json:"role"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writePerson(x.g.Accounts.GrantPerson(x.ctx(), *x.who, x.params["id"], body.Role))
}

// writePerson answers with somebody as a verb left them.
func (x *exchange) writePerson(p account.Person, err error) error {
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, viewPerson(p))
}

func (x *exchange) signOutPerson() error {
	n, err := x.g.Accounts.SignOutPerson(x.ctx(), *x.who, x.params["id"])
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, map[string]int64{"revoked": n})
}

func (x *exchange) sendReset() error {
	if err := x.g.Accounts.SendReset(x.ctx(), *x.who, x.params["id"]); err != nil {
		return err
	}
	return x.json(http.StatusAccepted, map[string]string{"status": "reset_sent"})
}

// listAllAudit is the events of all chains.
func (x *exchange) listAllAudit() error {
	asked, err := x.asks()
	if err != nil {
		return err
	}
	v := x.r.URL.Query()
	p, err := x.g.Audit.Page(x.ctx(), audit.Query{All: true, Action: v.Get("action"), Actor: v.Get("actor"), Query: asked.query()})
	if err != nil {
		return err
	}
	answer := list[audit.Event]{Items: p.Items, Next: p.Next}
	if answer.Items == nil {
		answer.Items = []audit.Event{}
	}
	return x.list(answer)
}

// listProviders is the sign-in providers with how their set-up went.
func (x *exchange) listProviders() error {
	p, err := x.g.Accounts.Provider(x.ctx(), "github")
	if err != nil {
		return err
	}
	view := viewProvider(p)
	view["appName"], view["owner"], view["configuredAt"], view["outcome"] = p.AppName, p.Owner, iso.Optional(p.ConfiguredAt), p.Attempt.Outcome
	return x.json(http.StatusOK, map[string]any{"items": []any{view}})
}
