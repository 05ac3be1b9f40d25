package gateway

import (
	"cmp"
	"net/http"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

func (x *exchange) viewWorkspace(m workspace.Membership) page.Workspace {
	at, err := scope.Parse(m.Scope)
	if err != nil {
		return page.Workspace{Business: m.Business, Role: m.Role}
	}
	return page.Workspace{Username: at.Username, Business: at.Business, Name: m.Name, Role: m.Role, Archived: m.Archived, Suspended: m.Suspended}
}

func (x *exchange) workspacesPage() error {
	all, err := x.g.Accounts.Workspaces(x.ctx(), x.who.Account.ID)
	if err != nil {
		return err
	}
	view := page.Workspaces{Desk: x.desk(page.Form{})}
	for _, m := range all {
		view.Items = append(view.Items, x.viewWorkspace(m))
	}
	return x.show(http.StatusOK, view)
}

func (x *exchange) newWorkspacePage() error {
	return x.show(http.StatusOK, page.NewWorkspace{Desk: x.desk(page.Form{})})
}

func (x *exchange) newWorkspaceForm() error {
	var f struct {
		Business string `json:"business"`
		Title    string `json:"title"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	_, err := x.g.Workspaces.Create(x.ctx(), workspace.Caller{Actor: x.who.Account.Actor()}, f.Business, f.Title)
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			form.Fields = asTyped(err, form.Fields)
			return page.NewWorkspace{Desk: x.desk(form), Business: f.Business, Title: f.Title}
		})
	}
	return x.done(page.WorkspacesPath, page.NoticeWorkspaceMade)
}

// asTyped are the refused fields of a workspace as its page calls them.
func asTyped(err error, fields []page.FieldError) []page.FieldError {
	if fault.Is(err, workspace.NameTaken) {
		return []page.FieldError{{Field: "business", Type: "taken"}}
	}
	for i := range fields {
		if fields[i].Field == "name" {
			fields[i].Field = "title"
		}
	}
	return fields
}

// invitationPage is where the link of an invitation leads. Somebody who is not signed in does that first.
func (x *exchange) invitationPage() error {
	who, err := x.signedInQuietly()
	if err != nil {
		return err
	}
	var view page.Invitation
	if who != nil {
		view.SignedInAs, view.Email = who.Account.Username, who.Account.Email
	}
	return x.show(http.StatusOK, view)
}

func (x *exchange) invitationForm() error {
	var f struct {
		Token string `json:"token"`
		Join  string `json:"join"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	token, view := page.TokenOf(f.Token), page.Invitation{SignedInAs: x.who.Account.Username, Email: x.who.Account.Email}
	refused := func(form page.Form) page.View {
		view.Form = form
		return view
	}
	if f.Join == "" {
		i, w, err := x.g.Workspaces.Look(x.ctx(), x.guest(), token)
		if err != nil {
			return x.again(err, refused)
		}
		view.Token, view.Role, view.Inviter = token, i.Role, cmp.Or(i.InvitedBy.DisplayName, i.InvitedBy.Username, "Somebody")
		view.Workspace = x.viewWorkspace(workspace.Membership{Workspace: w})
		return x.show(http.StatusOK, view)
	}
	if _, err := x.accept(token); err != nil {
		return x.again(err, refused)
	}
	return x.done(page.WorkspacesPath, page.NoticeJoined)
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
