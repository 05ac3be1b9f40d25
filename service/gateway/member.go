package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/workspace"
)

// colleagueView is a person of a workspace by name.
type colleagueView struct {
	Account     string `json:"account"`
	Username    string `json:"username"`
	DisplayName string `json:"displayName"`
}

func viewColleague(c workspace.Colleague) colleagueView {
	return colleagueView{c.Account, c.Username, c.DisplayName}
}

// teamNameView is a team by name.
type teamNameView struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// memberView is a person and their role.
type memberView struct {
	colleagueView
	Role       string         `json:"role"`
	Teams      []teamNameView `json:"teams"`
	LastSeenAt *iso.Time      `json:"lastSeenAt"`
	CreatedAt  iso.Time       `json:"createdAt"`
	UpdatedAt  iso.Time       `json:"updatedAt"`
	Version    int64          `json:"version"`
}

func viewMember(m workspace.Member) memberView {
	v := memberView{
		colleagueView: viewColleague(m.Colleague), Role: m.Role, Teams: []teamNameView{}, LastSeenAt: iso.Optional(m.LastSeenAt),
		CreatedAt: iso.Time(m.CreatedAt), UpdatedAt: iso.Time(m.UpdatedAt), Version: m.Version,
	}
	for _, t := range m.Teams {
		v.Teams = append(v.Teams, teamNameView{t.ID, t.Name})
	}
	return v
}

func (x *exchange) listMembers() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	found, err := x.g.Workspaces.People(x.ctx(), by, x.address(), q)
	if err != nil {
		return err
	}
	return listPage(x, found, viewMember)
}

func (x *exchange) writeMember(m workspace.Member, err error) error {
	if err != nil {
		return err
	}
	x.out.Header().Set("ETag", etag(m.Version))
	return x.json(http.StatusOK, viewMember(m))
}

func (x *exchange) getMember() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeMember(x.g.Workspaces.GetMember(x.ctx(), by, x.address(), x.params["account"]))
}

func (x *exchange) patchMember() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	var body struct {
		Role string `json:"role"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writeMember(x.g.Workspaces.ChangeRole(x.ctx(), by, x.address(), x.params["account"], body.Role, version))
}

// deleteMember takes somebody out of a workspace; one's own entry is leaving, but by the authority of the service.
func (x *exchange) deleteMember() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	if x.params["account"] == by.ID && by.Staff == "" {
		err = x.g.Workspaces.Leave(x.ctx(), by, x.address())
	} else {
		err = x.g.Workspaces.Remove(x.ctx(), by, x.address(), x.params["account"], version)
	}
	if err != nil {
		return err
	}
	return x.none()
}

// invitationView is an invitation without its token.
type invitationView struct {
	ID        string        `json:"id"`
	Email     string        `json:"email"`
	Role      string        `json:"role"`
	InvitedBy colleagueView `json:"invitedBy"`
	ExpiresAt iso.Time      `json:"expiresAt"`
	CreatedAt iso.Time      `json:"createdAt"`
	UpdatedAt iso.Time      `json:"updatedAt"`
	Version   int64         `json:"version"`
	AcceptURL string        `json:"acceptUrl,omitempty"` // once, where there is no mail
}

func viewInvitation(i workspace.Invitation) invitationView {
	return invitationView{
		ID: i.ID, Email: i.Email, Role: i.Role, InvitedBy: viewColleague(i.InvitedBy), ExpiresAt: iso.Time(i.ExpiresAt), CreatedAt: iso.Time(i.CreatedAt),
		UpdatedAt: iso.Time(i.UpdatedAt), Version: i.Version,
	}
}

func (x *exchange) listInvitations() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	found, err := x.g.Workspaces.Invitations(x.ctx(), by, x.address(), q)
	if err != nil {
		return err
	}
	return listPage(x, found, viewInvitation)
}

func (x *exchange) createInvitation() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	var body struct {
		Email string `json:"email"`
		Role  string `json:"role"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	sent, err := x.g.Workspaces.Invite(x.ctx(), by, x.address(), body.Email, body.Role)
	if err != nil {
		return err
	}
	x.out.Header().Set("Location", x.r.URL.Path+"/"+sent.ID)
	return x.writeSent(http.StatusCreated, sent)
}

func (x *exchange) writeSent(status int, sent workspace.Sent) error {
	v := viewInvitation(sent.Invitation)
	v.AcceptURL = sent.AcceptURL
	return x.json(status, v)
}

func (x *exchange) resendInvitation() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	sent, err := x.g.Workspaces.Resend(x.ctx(), by, x.address(), x.params["invitation"])
	if err != nil {
		return err
	}
	return x.writeSent(http.StatusOK, sent)
}

func (x *exchange) deleteInvitation() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	if err := x.g.Workspaces.Revoke(x.ctx(), by, x.address(), x.params["invitation"]); err != nil {
		return err
	}
	return x.none()
}

// acceptInvitation lets somebody in who was invited.
func (x *exchange) acceptInvitation() error {
	var body tokenBody
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writeWorkspace(x.accept(body.Token))
}

// accept brings whoever is signed in into the workspace of an invitation.
func (x *exchange) accept(token string) (workspace.Membership, error) {
	return x.g.Workspaces.Accept(x.ctx(), x.guest(), token)
}

// guest is whoever is signed in, as somebody who comes with an invitation.
func (x *exchange) guest() workspace.Guest {
	p := x.who.Account
	return workspace.Guest{Actor: p.Actor(), Email: p.Email, Verified: p.EmailVerified}
}
