package site

import (
	"cmp"
	"context"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// workspaces are the pages of the workspaces that a person has, makes and is invited to.
var workspaces = []Row{
	shows(page.WorkspacesPath, access.SignedIn, listWorkspaces),
	shows(page.NewPath, access.SignedIn, newWorkspace),
	does(page.NewPath, access.SignedIn, newWorkspace, makeWorkspace),
	does(page.RestorePath, access.SignedIn, listWorkspaces, restoreWorkspace),
	shows(page.InvitationPath, access.Public, invitation),
	takes(page.InvitationPath, "acceptInvitation", invitation, joined, "join").first(lookAtInvitation).first(pasted),
}

// shown is a workspace as pages show it.
func shown(m workspace.Membership) page.Workspace {
	at, err := scope.Parse(m.Scope)
	if err != nil {
		return page.Workspace{Business: m.Business, Role: m.Role}
	}
	return page.Workspace{Username: at.Username, Business: at.Business, Name: m.Name, Role: m.Role, Archived: m.Archived, Suspended: m.Suspended, EraseAt: m.EraseAt.Time}
}

func listWorkspaces(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	all, err := v.Accounts.Workspaces(ctx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	view := page.Workspaces{Desk: v.desk(form)}
	for _, m := range all {
		item := shown(m)
		if at, err := scope.Parse(m.Scope); err == nil && v.Application {
			item.Open = v.opened(at)
			if !m.Suspended {
				item.Configure = pathOf(at)
			}
		}
		view.Items = append(view.Items, item)
	}
	deleted, err := v.Workspaces.Deleted(ctx, v.Caller(), listing.Query{Limit: listing.MaxLimit})
	for _, m := range deleted.Items {
		view.Deleted = append(view.Deleted, shown(m))
	}
	return view, err
}

// restoreWorkspace brings back one that its owner deleted.
func restoreWorkspace(ctx context.Context, v *Visit) (Next, error) {
	var f struct {
		Workspace string `json:"workspace"`
	}
	if err := v.fill(&f); err != nil {
		return Next{}, err
	}
	back, err := v.Workspaces.Restore(ctx, v.Caller(), "users/"+f.Workspace)
	return v.enterWorkspace(back.Scope, page.NoticeWorkspaceRestored), err
}

// newWorkspace is the page that makes one. What the API calls its name the page calls its title, beside its short name.
func newWorkspace(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	for i := range form.Fields {
		if form.Fields[i].Field == "name" {
			form.Fields[i].Field = "title"
		}
	}
	return page.NewWorkspace{Desk: v.desk(form), Business: v.typed("business"), Title: v.typed("title")}, nil
}

func makeWorkspace(ctx context.Context, v *Visit) (Next, error) {
	var f struct {
		Business string `json:"business"`
		Title    string `json:"title"`
	}
	if err := v.fill(&f); err != nil {
		return Next{}, err
	}
	made, err := v.Workspaces.Create(ctx, v.Caller(), f.Business, f.Title)
	return v.enterWorkspace(made.Scope, page.NoticeWorkspaceMade), err
}

// invitation is where the link of one leads. Somebody who is not signed in does that first.
func invitation(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	who, _, err := v.Browser.Known()
	view := page.Invitation{Form: form}
	if who != nil {
		view.SignedInAs, view.Email = who.Account.Username, who.Account.Email
	}
	return view, err
}

// lookAtInvitation says what an invitation is to, before it is accepted.
func lookAtInvitation(ctx context.Context, v *Visit) (Next, error) {
	if v.typed("join") != "" {
		return Next{}, nil
	}
	token, p := v.typed("token"), v.Account
	i, w, err := v.Workspaces.Look(ctx, workspace.Guest{Actor: p.Actor(), Email: p.Email, Verified: p.EmailVerified}, token)
	if err != nil {
		return Next{}, err
	}
	return Next{Page: page.Invitation{
		SignedInAs: p.Username, Email: p.Email, Token: token, Role: i.Role, Inviter: cmp.Or(i.InvitedBy.DisplayName, i.InvitedBy.Username, "Somebody"),
		Workspace: shown(workspace.Membership{Workspace: w}),
	}}, nil
}

// joined leads into the workspace that an invitation was to.
func joined(_ context.Context, v *Visit, out any) (Next, error) {
	return v.enterWorkspace(out.(workspace.Membership).Scope, page.NoticeJoined), nil
}
