package gateway

import (
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/workspace"
)

// below is the path of a workspace.
const below = "/api/workspaces/{username}/{business}"

// may is the need of most routes here.
var may = access.May

// workspaceRoutes are those of a workspace and its people. On Admin they have the authority of the staff.
var workspaceRoutes = []route{
	{platform, "GET", "/api/workspaces", access.SignedIn.Keyless(), (*exchange).listWorkspaces, 0},
	{platform, "POST", "/api/workspaces", access.SignedIn.Keyless(), (*exchange).createWorkspace, 0},
	{platform, "POST", "/api/invitations/accept", access.SignedIn, (*exchange).acceptInvitation, 0},

	{spaces, "GET", below, may(workspace.Enter).Suspended(), (*exchange).getWorkspace, 0},
	{spaces, "PATCH", below, may(workspace.Manage), (*exchange).patchWorkspace, 0},
	{spaces, "DELETE", below, may(workspace.Own).Fresh(), (*exchange).deleteWorkspace, 0},
	{spaces, "POST", below + "/archive", may(workspace.Own), (*exchange).archiveWorkspace, 0},
	{spaces, "POST", below + "/unarchive", may(workspace.Own), (*exchange).unarchiveWorkspace, 0},
	{spaces, "POST", below + "/restore", may(workspace.Own).Deleted(), (*exchange).restoreWorkspace, 0},
}
