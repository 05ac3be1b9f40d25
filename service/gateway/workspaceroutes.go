package gateway

import (
	"svc.dev/svc/service/access"
)

// below is the path of a workspace.
const below = "/api/workspaces/{username}/{business}"

// may is the need of most routes here.
var may = access.May

// workspaceRoutes are how somebody comes to a workspace.
var workspaceRoutes = []route{
	{platform, "POST", "/api/workspaces", access.SignedIn.Keyless(), (*exchange).createWorkspace, 0},
	{platform, "POST", "/api/invitations/accept", access.SignedIn, (*exchange).acceptInvitation, 0},
}
