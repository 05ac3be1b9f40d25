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

	{admin, "GET", "/api/admin/people", access.Staff, (*exchange).listEverybody, 0},
	{admin, "GET", "/api/admin/people/{id}", access.Staff, (*exchange).getPerson, 0},
	{admin, "POST", "/api/admin/people/{id}/suspend", access.StaffChange.Fresh(), (*exchange).suspendPerson, 0},
	{admin, "POST", "/api/admin/people/{id}/restore", access.StaffChange.Fresh(), (*exchange).restorePerson, 0},
	{admin, "POST", "/api/admin/people/{id}/revoke-sessions", access.StaffChange.Fresh(), (*exchange).signOutPerson, 0},
	{admin, "POST", "/api/admin/people/{id}/send-reset", access.StaffChange.Fresh(), (*exchange).sendReset, 0},
	{admin, "POST", "/api/admin/people/{id}/grant", access.StaffChange.Fresh(), (*exchange).grantPerson, 0},
	{admin, "GET", "/api/admin/audit", access.Staff, (*exchange).listAllAudit, 0},
	{admin, "GET", "/api/admin/workspaces", access.Staff, (*exchange).listAllWorkspaces, 0},
	{admin, "POST", "/api/admin/workspaces/{id}/suspend", access.StaffChange.Fresh(), (*exchange).suspendWorkspace, 0},
	{admin, "POST", "/api/admin/workspaces/{id}/restore", access.StaffChange.Fresh(), (*exchange).reinstateWorkspace, 0},
	{admin, "GET", "/api/admin/projects", access.Staff, (*exchange).listAllProjects, 0},
	{admin, "GET", "/api/admin/storage", access.Staff, (*exchange).listAllStorage, 0},
	{admin, "GET", "/api/admin/agents", access.Staff, surveyed(allAgentsPath), 0},
	{admin, "GET", "/api/admin/workflows", access.Staff, surveyed(allWorkflowsPath), 0},
	{admin, "GET", "/api/admin/runs", access.Staff, surveyed(allRunsPath), 0},
	{admin, "GET", "/api/admin/keys", access.Staff, (*exchange).listAllKeys, 0},
	{admin, "GET", "/api/admin/secret-store", access.Staff, (*exchange).secretStore, 0},
	{admin, "POST", "/api/admin/secret-store/rotate", access.StaffChange.Fresh(), (*exchange).rotateSecrets, 0},
	{admin, "GET", "/api/admin/health", access.Staff, (*exchange).health, 0},
	{admin, "GET", "/api/admin/providers", access.Staff, (*exchange).listProviders, 0},

	{admin, "POST", "/api/admin/impersonations", access.Staff, (*exchange).startView, 0},
	{admin, "DELETE", "/api/admin/impersonations/{id}", access.Staff, (*exchange).endView, 0},
	{agents, "GET", viewPath, access.SignedIn, (*exchange).openView, 0},
}

// ownPath is the workspace of the staff themselves. Its people are the staff.
const ownPath = "/api/workspaces/admin"

// ownRoutes are those that only that workspace has.
var ownRoutes = []route{
	{admin, "GET", ownPath, may(workspace.Enter), (*exchange).getOwn, 0},
}
