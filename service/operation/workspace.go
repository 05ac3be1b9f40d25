package operation

import (
	"context"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/workspace"
)

// workspaces are the businesses of a person, and what becomes of one.
var workspaces = []Row{
	list("/api/workspaces", access.SignedIn.Keyless(), listWorkspaces).on(access.Platform).says("List one's workspaces."),
	create("/api/workspaces", access.SignedIn.Keyless(), createWorkspace).on(access.Platform).says("Make a workspace.", fault.NameTaken),
	verb("/api/invitations/accept", access.SignedIn, acceptInvitation).on(access.Platform).says("Accept an invitation.", workspace.InvitationEmailMismatch, workspace.InvitationInvalid),

	get(W, access.May(workspace.Enter).Suspended(), getWorkspace).says("Read a workspace."),
	change(W, access.May(workspace.Manage), renameWorkspace).says("Rename a workspace."),
	row("DELETE", W, begins, access.May(workspace.Own).Fresh(), deleteWorkspace).says("Delete a workspace, with the time to bring it back.", fault.InvalidRequest, fault.InUse),
	verb(W+"/archive", access.May(workspace.Own), archiveWorkspace).says("Archive a workspace.", fault.InUse),
	verb(W+"/unarchive", access.May(workspace.Own), unarchiveWorkspace).says("Unarchive a workspace.", fault.InUse),
	verb(W+"/restore", access.May(workspace.Own).Deleted(), restoreWorkspace).says("Bring back a workspace.", fault.InUse),
}

func listWorkspaces(ctx context.Context, c Call, in page) (listing.Page[workspace.Membership], error) {
	return c.Workspaces.List(ctx, c.Caller(), in.Query)
}

type newWorkspace struct {
	Body struct {
		Business string `json:"business"`
		Name     string `json:"name"`
	}
}

// madeWorkspace is a workspace where it is used, which is another surface than where it was made.
type madeWorkspace struct {
	workspace.Membership
	at string
}

func (w madeWorkspace) where() string { return w.at }

func createWorkspace(ctx context.Context, c Call, in newWorkspace) (madeWorkspace, error) {
	m, err := c.Workspaces.Create(ctx, c.Caller(), in.Body.Business, in.Body.Name)
	return madeWorkspace{m, c.Address(access.Agents) + "/api/workspaces/" + strings.TrimPrefix(m.Scope, "users/")}, err
}

func acceptInvitation(ctx context.Context, c Call, in token) (workspace.Membership, error) {
	p := c.Account
	return c.Workspaces.Accept(ctx, workspace.Guest{Actor: p.Actor(), Email: p.Email, Verified: p.EmailVerified}, in.Body.Token)
}

// seen is a workspace as staff see it too: with the role by which they are there.
func (c Call) seen(m workspace.Membership, err error) (workspace.Membership, error) {
	if c.isStaff() {
		m.Role = c.Staff
	}
	return m, err
}

func getWorkspace(ctx context.Context, c Call, _ struct{}) (workspace.Membership, error) {
	return c.seen(c.Workspaces.Get(ctx, c.Caller(), c.Scope))
}

type renaming struct {
	Match Match
	Body  nameBody
}

func renameWorkspace(ctx context.Context, c Call, in renaming) (workspace.Membership, error) {
	return c.seen(c.Workspaces.Rename(ctx, c.Caller(), c.Scope, in.Body.Name, int64(in.Match)))
}

// meant is the version of the workspace that a verb is meant for.
type meant struct{ Match Match }

// seeing is who asks, and the version of what they change.
func (c Call) seeing(m Match) workspace.Caller {
	by := c.Caller()
	by.Seen = int64(m)
	return by
}

func archiveWorkspace(ctx context.Context, c Call, in meant) (workspace.Membership, error) {
	return c.seen(c.Workspaces.Archive(ctx, c.seeing(in.Match), c.Scope))
}

func unarchiveWorkspace(ctx context.Context, c Call, in meant) (workspace.Membership, error) {
	return c.seen(c.Workspaces.Unarchive(ctx, c.seeing(in.Match), c.Scope))
}

func restoreWorkspace(ctx context.Context, c Call, in meant) (workspace.Membership, error) {
	return c.seen(c.Workspaces.Restore(ctx, c.seeing(in.Match), c.Scope))
}

type deletion struct {
	Match   Match
	Confirm string `query:"confirm"`
}

// Deleting is when what was deleted is gone for good.
type Deleting struct {
	Status  string     `json:"status" enum:"deleting"`
	EraseAt iso.Moment `json:"eraseAt"`
}

func deleteWorkspace(ctx context.Context, c Call, in deletion) (Deleting, error) {
	at, err := c.Workspaces.Delete(ctx, c.seeing(in.Match), c.Scope, in.Confirm)
	return Deleting{"deleting", iso.At(at)}, err
}
