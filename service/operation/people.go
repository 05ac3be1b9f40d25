package operation

import (
	"context"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/workspace"
)

// people are those of a workspace: its members, those who are invited, and teams.
var people = []Row{
	list(W+"/people", access.May(workspace.Read), listPeople).says("List the people of a workspace."),
	get(W+"/people/{account}", access.May(workspace.Read), getMember).says("Read somebody's place in a workspace.", fault.ItemNotFound),
	change(W+"/people/{account}", access.May(workspace.Manage), changeRole).says("Change somebody's role.", fault.ItemNotFound, fault.LastOwner),
	drop(W+"/people/{account}", access.May(workspace.Enter).Suspended(), removeMember).says("Take somebody out, or leave.", fault.ItemNotFound, fault.LastOwner),

	list(W+"/invitations", access.May(workspace.Review), listInvitations).says("List who is invited."),
	create(W+"/invitations", access.May(workspace.Manage), invite).secret().says("Invite somebody.", fault.NameTaken, fault.InUse),
	verb(W+"/invitations/{invitation}/resend", access.May(workspace.Manage), resendInvitation).secret().says("Send an invitation again.", fault.ItemNotFound),
	drop(W+"/invitations/{invitation}", access.May(workspace.Manage), revokeInvitation).says("Take an invitation back.", fault.ItemNotFound),

	list(W+"/teams", access.May(workspace.Read), listTeams).says("List the teams of a workspace."),
	create(W+"/teams", access.May(workspace.Manage), createTeam).says("Make a team.", fault.NameTaken),
	get(W+"/teams/{team}", access.May(workspace.Read), getTeam).says("Read a team.", fault.ItemNotFound),
	change(W+"/teams/{team}", access.May(workspace.Manage), renameTeam).says("Rename a team.", fault.ItemNotFound, fault.NameTaken),
	drop(W+"/teams/{team}", access.May(workspace.Manage), deleteTeam).says("Delete a team.", fault.ItemNotFound),
	row("PUT", W+"/teams/{team}/members/{account}", shows, access.May(workspace.Manage), joinTeam).says("Put somebody into a team.", fault.ItemNotFound, fault.InvalidRequest),
	row("DELETE", W+"/teams/{team}/members/{account}", shows, access.May(workspace.Manage), leaveTeam).says("Take somebody out of a team.", fault.ItemNotFound),
	row("PUT", W+"/teams/{team}/projects/{slug}", shows, access.May(workspace.Manage), giveTeamProject).says("Give a team a role in a project.", fault.ItemNotFound),
	row("DELETE", W+"/teams/{team}/projects/{slug}", shows, access.May(workspace.Manage), takeTeamProject).says("Take a team's role in a project.", fault.ItemNotFound),
}

type page struct{ listing.Query }

func listPeople(ctx context.Context, c Call, in page) (listing.Page[workspace.Member], error) {
	return c.Workspaces.People(ctx, c.Caller(), c.Scope, in.Query)
}

type member struct {
	Account string `path:"account"`
}

func getMember(ctx context.Context, c Call, in member) (workspace.Member, error) {
	return c.Workspaces.GetMember(ctx, c.Caller(), c.Scope, in.Account)
}

type roleChange struct {
	Account string `path:"account"`
	Match   Match
	Body    roleBody
}

type roleBody struct {
	Role string `json:"role"`
}

func changeRole(ctx context.Context, c Call, in roleChange) (workspace.Member, error) {
	return c.Workspaces.ChangeRole(ctx, c.Caller(), c.Scope, in.Account, in.Body.Role, int64(in.Match))
}

type removal struct {
	Account string `path:"account"`
	Match   Match
}

// removeMember takes somebody out of a workspace; one's own entry is leaving, but by the authority of the service.
func removeMember(ctx context.Context, c Call, in removal) error {
	return c.Workspaces.Remove(ctx, c.Caller(), c.Scope, in.Account, int64(in.Match))
}

func listInvitations(ctx context.Context, c Call, in page) (listing.Page[workspace.Invitation], error) {
	return c.Workspaces.Invitations(ctx, c.Caller(), c.Scope, in.Query)
}

type invited struct {
	Body struct {
		Email string `json:"email" max:"254"`
		Role  string `json:"role" enum:"owner admin builder viewer billing"`
	}
}

func invite(ctx context.Context, c Call, in invited) (workspace.Sent, error) {
	return c.Workspaces.Invite(ctx, c.Caller(), c.Scope, in.Body.Email, in.Body.Role)
}

type invitation struct {
	ID    string `path:"invitation"`
	Match Match
}

func resendInvitation(ctx context.Context, c Call, in invitation) (workspace.Sent, error) {
	return c.Workspaces.Resend(ctx, c.seeing(in.Match), c.Scope, in.ID)
}

func revokeInvitation(ctx context.Context, c Call, in invitation) error {
	return c.Workspaces.Revoke(ctx, c.seeing(in.Match), c.Scope, in.ID)
}

func listTeams(ctx context.Context, c Call, in page) (listing.Page[workspace.Team], error) {
	return c.Workspaces.Teams.List(ctx, c.Caller(), c.Scope, in.Query)
}

type nameBody struct {
	Name string `json:"name" min:"1" max:"80"`
}

type newTeam struct{ Body nameBody }

func createTeam(ctx context.Context, c Call, in newTeam) (workspace.Team, error) {
	return c.Workspaces.Teams.Create(ctx, c.Caller(), c.Scope, in.Body.Name)
}

type team struct {
	ID string `path:"team"`
}

func getTeam(ctx context.Context, c Call, in team) (workspace.Team, error) {
	return c.Workspaces.Teams.Get(ctx, c.Caller(), c.Scope, in.ID)
}

type teamChange struct {
	ID    string `path:"team"`
	Match Match
	Body  nameBody
}

func renameTeam(ctx context.Context, c Call, in teamChange) (workspace.Team, error) {
	return c.Workspaces.Teams.Rename(ctx, c.Caller(), c.Scope, in.ID, in.Body.Name, int64(in.Match))
}

type teamRemoval struct {
	ID    string `path:"team"`
	Match Match
}

func deleteTeam(ctx context.Context, c Call, in teamRemoval) error {
	return c.Workspaces.Teams.Delete(ctx, c.Caller(), c.Scope, in.ID, int64(in.Match))
}

type teamMember struct {
	Team    string `path:"team"`
	Account string `path:"account"`
	Match   Match
}

func joinTeam(ctx context.Context, c Call, in teamMember) (workspace.Team, error) {
	return c.Workspaces.Teams.PutMember(ctx, c.seeing(in.Match), c.Scope, in.Team, in.Account)
}

func leaveTeam(ctx context.Context, c Call, in teamMember) (workspace.Team, error) {
	return c.Workspaces.Teams.DropMember(ctx, c.seeing(in.Match), c.Scope, in.Team, in.Account)
}

type teamRole struct {
	Team  string `path:"team"`
	Slug  string `path:"slug"`
	Match Match
	Body  roleBody
}

func giveTeamProject(ctx context.Context, c Call, in teamRole) (workspace.Team, error) {
	return c.Workspaces.Teams.PutProject(ctx, c.seeing(in.Match), c.Scope, in.Team, in.Slug, in.Body.Role)
}

type teamProject struct {
	Team  string `path:"team"`
	Slug  string `path:"slug"`
	Match Match
}

func takeTeamProject(ctx context.Context, c Call, in teamProject) (workspace.Team, error) {
	return c.Workspaces.Teams.DropProject(ctx, c.seeing(in.Match), c.Scope, in.Team, in.Slug)
}
