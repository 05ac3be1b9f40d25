package operation

import (
	"context"
	"net/http"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

const mcpPath = W + "/mcps/{mcp}"

// MCPCallbackPath is where authorization servers of MCP servers send browsers back to.
const MCPCallbackPath = "/api/mcps/callback"

var managesMCPs = access.May(workspace.Manage)

// mcpServers are the MCP servers of a workspace. Which agents use them the runtime knows.
var mcpServers = everywhere("workspace",
	list(W+"/mcps", access.May(workspace.Read), listMCPs).says("List the MCP servers of a workspace, the newest first, without their tools.").consults(),
	create(W+"/mcps", managesMCPs, createMCP).most(maxSecretBody).says("Add an MCP server. It is connected by a verb of its own.", fault.NameTaken).consults(),
	get(mcpPath, access.May(workspace.Read), getMCP).says("Read an MCP server, with its tools.", fault.ItemNotFound).consults(),
	change(mcpPath, managesMCPs, patchMCP).most(maxSecretBody).
		says("Change where an MCP server is, or its token. It has to be connected again; another address takes its tools away, and its token unless that is given anew.", fault.ItemNotFound).consults(),
	drop(mcpPath, managesMCPs, deleteMCP).says("Forget an MCP server, and destroy its token. One that agents use stays.", fault.ItemNotFound, fault.InUse).consults(),
	verb(mcpPath+"/connect", managesMCPs, connectMCP).told().
		says("Connect an MCP server and list its tools. What is new is off; what has become another is switched off, and says so. Where somebody has to sign in first, `signInUrl` is where the browser goes: within 10 minutes, in the same session.",
			fault.ItemNotFound, mcp.Unreachable, fault.Busy).consults(),
	verb(mcpPath+"/test", managesMCPs, testMCP).told().says("Connect an MCP server, and say what came of it. Its tools stay as they are.", fault.ItemNotFound, fault.Busy),
	verb(mcpPath+"/refresh", managesMCPs, refreshMCP).told().
		says("List the tools of a connected MCP server again, as when it was connected.", fault.ItemNotFound, mcp.NotConnected, mcp.Unreachable, fault.Busy).consults(),
	change(mcpPath+"/tools/{tool}", managesMCPs, switchMCPTool).says("Switch a tool of an MCP server on or off. What it is now has then been looked at.", fault.ItemNotFound).consults(),
)

// mcpReturns are visited by a browser rather than called.
var mcpReturns = about("workspace", access.Platform,
	get(MCPCallbackPath, access.SignedIn, finishMCPSignIn).leads(http.StatusSeeOther).
		says("Come back from the authorization server of an MCP server. The state is good once, for the session that it was made for. Leads to the page of the server, which is connected then, or with `error` if the person said no.",
			account.InvalidState, fault.Forbidden, fault.AdminRequired, fault.WorkspaceSuspended, fault.WorkspaceNotFound, fault.ItemNotFound, fault.VersionConflict, mcp.Unreachable, secret.Unreadable, fault.Busy),
)

// mcps are the servers as those see them who know which agents use them. It is asked first, so that what is done is also answered.
func (c Call) mcps(ctx context.Context) (*mcp.Servers, error) {
	uses, err := c.uses(ctx)
	return c.MCPs.Using(uses.MCPs), err
}

// mcpServer is an MCP server in a list, without its tools.
type mcpServer struct{ mcp.Server }

func listMCPs(ctx context.Context, c Call, in page) (shown listing.Page[mcpServer], err error) {
	servers, err := c.mcps(ctx)
	if err != nil {
		return shown, err
	}
	all, err := servers.List(ctx, c.Scope, in.Query)
	return listing.Map(all, func(s mcp.Server) mcpServer { return mcpServer{s} }), err
}

// mcpDetail is an MCP server with what it has to offer.
type mcpDetail struct{ mcp.Detail }

// mcpDraft is what an MCP server is made of.
type mcpDraft struct{ mcp.Draft }

type newMCP struct{ Body mcpDraft }

func createMCP(ctx context.Context, c Call, in newMCP) (made mcpDetail, err error) {
	servers, err := c.mcps(ctx)
	if err != nil {
		return made, err
	}
	made.Detail, err = servers.Create(ctx, c.Actor(), c.Scope, in.Body.Draft)
	return made, err
}

type mcpID struct {
	MCP string `path:"mcp"`
}

func getMCP(ctx context.Context, c Call, in mcpID) (found mcpDetail, err error) {
	servers, err := c.mcps(ctx)
	if err != nil {
		return found, err
	}
	found.Detail, err = servers.Get(ctx, c.Scope, in.MCP)
	return found, err
}

// mcpEdit is what changes of an MCP server.
type mcpEdit struct{ mcp.Edit }

type mcpChange struct {
	MCP   string `path:"mcp"`
	Match Match
	Body  mcpEdit
}

func patchMCP(ctx context.Context, c Call, in mcpChange) (changed mcpDetail, err error) {
	servers, err := c.mcps(ctx)
	if err != nil {
		return changed, err
	}
	changed.Detail, err = servers.Patch(ctx, c.Actor(), c.Scope, in.MCP, int64(in.Match), in.Body.Edit)
	return changed, err
}

type mcpMatch struct {
	MCP   string `path:"mcp"`
	Match Match
}

func deleteMCP(ctx context.Context, c Call, in mcpMatch) error {
	servers, err := c.mcps(ctx)
	if err != nil {
		return err
	}
	return servers.Delete(ctx, c.Actor(), c.Scope, in.MCP, int64(in.Match))
}

func connectMCP(ctx context.Context, c Call, in mcpMatch) (connected mcpDetail, err error) {
	release, err := c.Fetching(c.Scope)
	if err != nil {
		return connected, err
	}
	defer release()
	servers, err := c.mcps(ctx)
	if err != nil {
		return connected, err
	}
	from := &mcp.Traveller{Who: c.Who, ReturnTo: c.mcpPage(in.MCP), Staff: c.isStaff()}
	connected.Detail, err = servers.Connect(ctx, c.Actor(), c.Scope, in.MCP, int64(in.Match), from)
	return connected, err
}

// mcpPage is where people see an MCP server, on the surface that they are on.
func (c Call) mcpPage(id string) string {
	return c.Address(c.Surface) + "/w/" + strings.TrimPrefix(c.Scope, "users/") + "/mcps/" + id
}

// mcpReturn is what an authorization server sends a browser back with.
type mcpReturn struct {
	State  string `query:"state"`
	Code   string `query:"code"`
	Issuer string `query:"iss"`
	Error  string `query:"error"`
}

// finishMCPSignIn connects an MCP server that somebody has signed in to, if they may still do that in its workspace.
func finishMCPSignIn(ctx context.Context, c Call, in mcpReturn) (Onward, error) {
	release := func() {}
	defer func() { release() }()
	back := mcp.Back{State: in.State, Code: in.Code, Issuer: in.Issuer, Error: in.Error}
	out, err := c.MCPs.Return(ctx, c.Who, back, func(at string, staff bool) (context.Context, error) {
		place, err := c.Fetching(at)
		if err != nil {
			return nil, err
		}
		release = place
		if staff {
			return ctx, c.needAdministrator()
		}
		inside, _, err := c.Enter(managesMCPs, strings.TrimPrefix(at, "users/"))
		return inside, err
	})
	if out.Denied {
		out.ReturnTo += "?error=access_denied"
	}
	return Onward{To: out.ReturnTo}, err
}

// needAdministrator refuses somebody who may not change things for the staff any more, where their elevation does not reach.
func (c Call) needAdministrator() error {
	if c.Account.Role == account.RoleAdmin {
		return nil
	}
	return fault.New(fault.AdminRequired, "Only an administrator of this service may do this.", "")
}

// mcpCheck is what a look at an MCP server came to.
type mcpCheck struct{ mcp.Tested }

func testMCP(ctx context.Context, c Call, in mcpID) (check mcpCheck, err error) {
	release, err := c.Fetching(c.Scope)
	if err != nil {
		return check, err
	}
	defer release()
	check.Tested, err = c.MCPs.Test(ctx, c.Scope, in.MCP)
	return check, err
}

func refreshMCP(ctx context.Context, c Call, in mcpMatch) (refreshed mcpDetail, err error) {
	release, err := c.Fetching(c.Scope)
	if err != nil {
		return refreshed, err
	}
	defer release()
	servers, err := c.mcps(ctx)
	if err != nil {
		return refreshed, err
	}
	refreshed.Detail, err = servers.Refresh(ctx, c.Actor(), c.Scope, in.MCP, int64(in.Match))
	return refreshed, err
}

type mcpToolSwitch struct {
	MCP   string `path:"mcp"`
	Tool  string `path:"tool"`
	Match Match
	Body  struct {
		Enabled bool `json:"enabled"`
	}
}

func switchMCPTool(ctx context.Context, c Call, in mcpToolSwitch) (switched mcpDetail, err error) {
	servers, err := c.mcps(ctx)
	if err != nil {
		return switched, err
	}
	switched.Detail, err = servers.Enable(ctx, c.Actor(), c.Scope, in.MCP, in.Tool, int64(in.Match), in.Body.Enabled)
	return switched, err
}

// mcpOfAll is an MCP server among those of all workspaces.
type mcpOfAll struct {
	ID           string     `json:"id" id:"mcp"`
	Scope        string     `json:"scope"`
	Name         string     `json:"name"`
	Transport    string     `json:"transport"`
	URL          string     `json:"url"`
	Auth         string     `json:"auth"`
	Status       string     `json:"status" enum:"connecting ok needs_sign_in down"`
	StatusAt     iso.Moment `json:"statusAt"`
	ToolCount    int64      `json:"toolCount"`
	EnabledCount int64      `json:"enabledCount"` // of the tools
	Version      int64      `json:"version"`
	CreatedAt    iso.Moment `json:"createdAt"`
	UpdatedAt    iso.Moment `json:"updatedAt"`
}

func listAllMCPs(ctx context.Context, c Call, in page) (listing.Page[mcpOfAll], error) {
	all, err := c.MCPs.All(ctx, in.Query)
	return listing.Map(all, func(s mcp.Server) mcpOfAll {
		return mcpOfAll{s.ID, s.Scope, s.Name, s.Transport, s.URL, s.Auth, s.Status, s.StatusAt, s.ToolCount, s.EnabledCount, s.Version, s.CreatedAt, s.UpdatedAt}
	}), err
}
