package operation

import (
	"context"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/workspace"
)

// everybody and business are where people and workspaces of the whole service are.
const (
	everybody = "/api/admin/people"
	business  = "/api/admin/workspaces"
)

// admin is that authority: over people, and over what all workspaces hold.
var admin = about("staff", access.Admin,
	list(everybody, access.Staff, listEverybody).says("List everybody."),
	get(everybody+"/{id}", access.Staff, getPerson).says("Read somebody, with the workspaces they work in and where they are signed in.", fault.ItemNotFound),
	verb(everybody+"/{id}/suspend", access.StaffChange.Fresh(), suspendPerson).says("Keep somebody out.", fault.ItemNotFound),
	verb(everybody+"/{id}/restore", access.StaffChange.Fresh(), restorePerson).says("Let somebody in again.", fault.ItemNotFound),
	verb(everybody+"/{id}/revoke-sessions", access.StaffChange.Fresh(), signOutPerson).says("End somebody's sessions.", fault.ItemNotFound),
	start(everybody+"/{id}/send-reset", access.StaffChange.Fresh(), sendReset).says("Send somebody the mail by which they set a password.", fault.ItemNotFound, fault.InvalidRequest, account.MailNotConfigured),
	verb(everybody+"/{id}/grant", access.StaffChange.Fresh(), grantPerson).says("Give somebody a role over the service, or take it.", fault.ItemNotFound),

	list(business, access.Staff, listAllWorkspaces).says("List all workspaces."),
	verb(business+"/{id}/suspend", access.StaffChange.Fresh(), suspendWorkspace).says("Keep the people of a workspace out of it.", fault.WorkspaceNotFound),
	verb(business+"/{id}/restore", access.StaffChange.Fresh(), reinstateWorkspace).says("End a suspension, or undo a deletion within its hold.", fault.WorkspaceNotFound),

	list("/api/admin/audit", access.Staff, listAllAudit).says("List the events of all chains, the newest first."),
	list("/api/admin/projects", access.Staff, listAllProjects).says("List the projects of all workspaces."),
	list("/api/admin/storage", access.Staff, listAllStorage).says("List what each workspace stores, as it was measured last."),
	list("/api/admin/keys", access.Staff, listAllKeys).says("List the API keys of all workspaces."),
	list("/api/admin/mcps", access.Staff, listAllMCPs).says("List the MCP servers of all workspaces."),
	relays[page, agentOfAll]("listAllAgents", "/api/admin/agents", access.Staff, engine.AllAgentsPath).says("List the agents of all workspaces. One that every workspace has is listed once, without a scope."),
	relays[page, engine.WorkflowOfAll]("listAllWorkflows", "/api/admin/workflows", access.Staff, engine.AllWorkflowsPath).says("List the workflows of all workspaces, as the agents."),
	relays[runQuery, engine.RunItem]("listAllRuns", "/api/admin/runs", access.Staff, engine.AllRunsPath).says("List the runs of all workspaces, the newest first."),
	list("/api/admin/providers", access.Staff, listProviders).says("List the sign-in providers, with how their set-up went."),
	get("/api/admin/secret-store", access.Staff, getSecretStore).says("Say how far a rotation of the keys has come."),
	start("/api/admin/secret-store/rotate", access.StaffChange.Fresh(), rotateSecrets).says("Move every secret to a new key.", fault.AlreadyRunning),
	get("/api/admin/health", access.Staff, getHealth).says("Say how the service does. What is wrong is in the answer."),
)

// person is somebody as the staff see them.
type person struct {
	account.Profile
	ServiceRole   string     `json:"serviceRole"`
	Suspended     bool       `json:"suspended"`
	SuspendReason string     `json:"suspendReason"`
	EraseAt       iso.Moment `json:"eraseAt" null:"the account is not deleted"`
	LastSeenAt    iso.Moment `json:"lastSeenAt" null:"never"`
	Sessions      int64      `json:"sessions"` // that are alive
	Version       int64      `json:"version"`
	CreatedAt     iso.Moment `json:"createdAt"`
}

func personOf(p account.Person) person {
	return person{
		Profile: p.Profile(), ServiceRole: p.Role, Suspended: p.Suspended, SuspendReason: p.Reason, EraseAt: iso.At(p.EraseAt),
		LastSeenAt: iso.At(p.LastSeenAt), Sessions: p.Sessions, Version: p.Version, CreatedAt: iso.At(p.CreatedAt),
	}
}

// peopleQuery asks for those who stand in some way.
type peopleQuery struct {
	listing.Query
	Status string `query:"status"`
	Role   string `query:"role"`
}

// personListed is somebody among all, with the workspaces they work in.
type personListed struct {
	person
	Workspaces []RoleIn `json:"workspaces"`
}

func listEverybody(ctx context.Context, c Call, in peopleQuery) (shown listing.Page[personListed], err error) {
	all, err := c.Accounts.Staff.People(ctx, account.PeopleQuery{Query: in.Query, Status: in.Status, Role: in.Role})
	if err != nil {
		return shown, err
	}
	ids := make([]string, 0, len(all.Items))
	for _, p := range all.Items {
		ids = append(ids, p.ID)
	}
	of, err := c.Accounts.WorkspacesOf(ctx, ids)
	return listing.Map(all, func(p account.Person) personListed { return personListed{personOf(p), RolesIn(of[p.ID])} }), err
}

type itemID struct {
	ID string `path:"id"`
}

// RoleIn is a workspace, and one's role in it.
type RoleIn struct {
	Business string `json:"business"`
	Scope    string `json:"scope"`
	Role     string `json:"role" enum:"owner admin builder viewer billing"`
}

// RolesIn are those of somebody's workspaces.
func RolesIn(all []workspace.Membership) []RoleIn {
	roles := make([]RoleIn, 0, len(all))
	for _, m := range all {
		roles = append(roles, RoleIn{m.Business, m.Scope, m.Role})
	}
	return roles
}

// acquaintance is somebody with the workspaces they work in.
type acquaintance struct {
	person
	Workspaces []RoleIn `json:"workspaces"`
	Devices    []device `json:"devices"` // where they are signed in
}

func getPerson(ctx context.Context, c Call, in itemID) (shown acquaintance, err error) {
	p, err := c.Accounts.Staff.Person(ctx, in.ID)
	if err != nil {
		return shown, err
	}
	all, err := c.Accounts.Workspaces(ctx, p.ID)
	if err != nil {
		return shown, err
	}
	sessions, err := c.Accounts.Sessions.List(ctx, account.Who{Account: p.Account})
	return acquaintance{personOf(p), RolesIn(all), c.devices(sessions)}, err
}

// shown is somebody as a verb left them.
func shown(p account.Person, err error) (person, error) { return personOf(p), err }

type reasoned struct {
	ID   string `path:"id"`
	Body struct {
		Reason string `json:"reason" max:"500"`
	}
}

func suspendPerson(ctx context.Context, c Call, in reasoned) (person, error) {
	return shown(c.Accounts.Staff.SuspendPerson(ctx, c.Who, in.ID, in.Body.Reason))
}

func restorePerson(ctx context.Context, c Call, in itemID) (person, error) {
	return shown(c.Accounts.Staff.RestorePerson(ctx, c.Who, in.ID))
}

type granting struct {
	ID   string `path:"id"`
	Body roleBody
}

func grantPerson(ctx context.Context, c Call, in granting) (person, error) {
	return shown(c.Accounts.Staff.GrantPerson(ctx, c.Who, in.ID, in.Body.Role))
}

// revoked is how many sessions ended.
type revoked struct {
	Revoked int64 `json:"revoked"`
}

func signOutPerson(ctx context.Context, c Call, in itemID) (revoked, error) {
	n, err := c.Accounts.Staff.SignOutPerson(ctx, c.Who, in.ID)
	return revoked{n}, err
}

// resetSent is what is said of a mail.
type resetSent struct {
	Status string `json:"status" enum:"reset_sent"`
}

func sendReset(ctx context.Context, c Call, in itemID) (resetSent, error) {
	return resetSent{"reset_sent"}, c.Accounts.Staff.SendReset(ctx, c.Who, in.ID)
}

// caseShown is a workspace as the staff see it.
type caseShown struct {
	ID       string `json:"id" id:"wsp"`
	Scope    string `json:"scope"`
	Business string `json:"business"`
	Name     string `json:"name"`
	Owner    struct {
		ID       string `json:"id" id:"acc"`
		Username string `json:"username"`
	} `json:"owner"`
	Suspended     bool       `json:"suspended"`
	SuspendReason string     `json:"suspendReason"`
	EraseAt       iso.Moment `json:"eraseAt" null:"it is not deleted"`
	CreatedAt     iso.Moment `json:"createdAt"`
}

func caseOf(c workspace.Case) caseShown {
	at, _ := scope.Parse(c.Scope) // it was made from one
	s := caseShown{ID: c.ID, Scope: c.Scope, Business: c.Business, Name: c.Name, Suspended: c.Suspended, SuspendReason: c.Reason, EraseAt: c.EraseAt, CreatedAt: c.CreatedAt}
	s.Owner.ID, s.Owner.Username = c.Owner, at.Username
	return s
}

func listAllWorkspaces(ctx context.Context, c Call, in page) (listing.Page[caseShown], error) {
	all, err := c.Workspaces.All(ctx, c.Caller(), in.Query)
	return listing.Map(all, caseOf), err
}

func suspendWorkspace(ctx context.Context, c Call, in reasoned) (caseShown, error) {
	w, err := c.Workspaces.Suspend(ctx, c.Caller(), in.ID, in.Body.Reason)
	return caseOf(w), err
}

func reinstateWorkspace(ctx context.Context, c Call, in itemID) (caseShown, error) {
	w, err := c.Workspaces.Reinstate(ctx, c.Caller(), in.ID)
	return caseOf(w), err
}

func listAllAudit(ctx context.Context, c Call, in eventQuery) (listing.Page[audit.Event], error) {
	q, err := in.query()
	if err != nil {
		return listing.Page[audit.Event]{}, err
	}
	q.All = true
	return c.Audit.Page(ctx, q)
}

// projectOfAll is a project among those of all workspaces.
type projectOfAll struct {
	ID        string     `json:"id" id:"prj"`
	Scope     string     `json:"scope"`
	Slug      string     `json:"slug"`
	Name      string     `json:"name"`
	Connected bool       `json:"connected"` // it follows a repository
	Bytes     int64      `json:"bytes"`
	FileCount int64      `json:"fileCount"`
	Version   int64      `json:"version"`
	CreatedAt iso.Moment `json:"createdAt"`
	UpdatedAt iso.Moment `json:"updatedAt"`
}

func listAllProjects(ctx context.Context, c Call, in page) (listing.Page[projectOfAll], error) {
	all, err := c.Projects.All(ctx, in.Query)
	return listing.Map(all, func(p project.Project) projectOfAll {
		return projectOfAll{p.ID, p.Scope, p.Slug, p.Name, p.Repository != nil, p.Bytes, p.FileCount, p.Version, p.CreatedAt, p.UpdatedAt}
	}), err
}

// storageOfAll is what one of all workspaces stores.
type storageOfAll struct {
	Scope         string     `json:"scope"`
	LimitBytes    int64      `json:"limitBytes"`
	UsedBytes     int64      `json:"usedBytes"`
	ReservedBytes int64      `json:"reservedBytes"`
	State         string     `json:"state" enum:"ok warning over blocked"`
	MeasuredAt    iso.Moment `json:"measuredAt"`
}

func listAllStorage(ctx context.Context, c Call, in page) (listing.Page[storageOfAll], error) {
	all, err := c.Quotas.All(ctx, in.Query)
	return listing.Map(all, func(s storage.Storage) storageOfAll {
		return storageOfAll{s.Scope, s.LimitBytes, s.UsedBytes, s.ReservedBytes, s.State, s.MeasuredAt}
	}), err
}

// agentOfAll is an agent among those of all workspaces.
type agentOfAll struct{ agent.ListedOfAll }

// keyOfAll is an API key among those of all workspaces.
type keyOfAll struct {
	apikey.Key
	Scope string `json:"scope"`
}

func listAllKeys(ctx context.Context, c Call, in page) (listing.Page[keyOfAll], error) {
	all, err := c.Keys.List(ctx, apikey.Query{All: true, Query: in.Query})
	return listing.Map(all, func(k apikey.Key) keyOfAll { return keyOfAll{k, k.Scope} }), err
}
