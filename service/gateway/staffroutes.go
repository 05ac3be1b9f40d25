package gateway

import (
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/workspace"
)

// staffRoutes are the authority of the staff, on their own surface, and what it leaves on the customers'.
var staffRoutes = []route{
	{admin, "POST", "/api/auth/elevate", access.SignedIn, (*exchange).elevate, 0},
	{admin, "DELETE", "/api/auth/elevate", access.SignedIn, (*exchange).lower, 0},
	{admin, "GET", "/api/orchestration/admin-verification", access.Staff, (*exchange).verifyAdmin, 0},

	{admin, "GET", "/api/admin/agents", access.Staff, surveyed(allAgentsPath), 0},
	{admin, "GET", "/api/admin/workflows", access.Staff, surveyed(allWorkflowsPath), 0},
	{admin, "GET", "/api/admin/runs", access.Staff, surveyed(allRunsPath), 0},
	{admin, "GET", "/api/admin/providers", access.Staff, (*exchange).listProviders, 0},

	{admin, "POST", "/api/admin/impersonations", access.Staff, (*exchange).startView, secretly},
	{admin, "DELETE", "/api/admin/impersonations/{id}", access.Staff, (*exchange).endView, 0},
	{agents, "GET", viewPath, access.SignedIn, (*exchange).openView, 0},
}

// ownPath is the workspace of the staff themselves. Its people are the staff.
const ownPath = "/api/workspaces/admin"

// ownRoutes are those that only that workspace has.
var ownRoutes = []route{
	{admin, "GET", ownPath, may(workspace.Enter), (*exchange).getOwn, 0},
}
