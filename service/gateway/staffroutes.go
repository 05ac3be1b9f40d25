package gateway

// staffRoutes are the authority of the staff, on their own surface, and what it leaves on the customers'. All on Admin but
// those that are unelevated need a session, a role and its elevation.
var staffRoutes = []route{
	{on: admin, method: "POST", path: "/api/auth/elevate", do: (*exchange).elevate, needs: signedIn | unelevated},
	{on: admin, method: "DELETE", path: "/api/auth/elevate", do: (*exchange).lower, needs: signedIn | unelevated},
	{on: admin, method: "GET", path: "/api/orchestration/admin-verification", do: (*exchange).verifyAdmin},

	{on: admin, method: "GET", path: "/api/admin/people", do: (*exchange).listEverybody},
	{on: admin, method: "GET", path: "/api/admin/people/{id}", do: (*exchange).getPerson},
	{on: admin, method: "POST", path: "/api/admin/people/{id}/suspend", do: (*exchange).suspendPerson},
	{on: admin, method: "POST", path: "/api/admin/people/{id}/restore", do: (*exchange).restorePerson},
	{on: admin, method: "POST", path: "/api/admin/people/{id}/revoke-sessions", do: (*exchange).signOutPerson},
	{on: admin, method: "POST", path: "/api/admin/people/{id}/send-reset", do: (*exchange).sendReset},
	{on: admin, method: "POST", path: "/api/admin/people/{id}/grant", do: (*exchange).grantPerson},
	{on: admin, method: "GET", path: "/api/admin/audit", do: (*exchange).listAllAudit},
	{on: admin, method: "GET", path: "/api/admin/workspaces", do: (*exchange).listAllWorkspaces},
	{on: admin, method: "POST", path: "/api/admin/workspaces/{id}/suspend", do: (*exchange).suspendWorkspace},
	{on: admin, method: "POST", path: "/api/admin/workspaces/{id}/restore", do: (*exchange).reinstateWorkspace},
	{on: admin, method: "GET", path: "/api/admin/projects", do: (*exchange).listAllProjects},
	{on: admin, method: "GET", path: "/api/admin/storage", do: (*exchange).listAllStorage},
	{on: admin, method: "GET", path: "/api/admin/agents", do: surveyed(allAgentsPath)},
	{on: admin, method: "GET", path: "/api/admin/workflows", do: surveyed(allWorkflowsPath)},
	{on: admin, method: "GET", path: "/api/admin/runs", do: surveyed(allRunsPath)},
	{on: admin, method: "GET", path: "/api/admin/keys", do: (*exchange).listAllKeys},
	{on: admin, method: "GET", path: "/api/admin/secret-store", do: (*exchange).secretStore},
	{on: admin, method: "POST", path: "/api/admin/secret-store/rotate", do: (*exchange).rotateSecrets},
	{on: admin, method: "GET", path: "/api/admin/health", do: (*exchange).health},
	{on: admin, method: "GET", path: "/api/admin/providers", do: (*exchange).listProviders},

	{on: admin, method: "POST", path: "/api/admin/impersonations", do: (*exchange).startView},
	{on: admin, method: "DELETE", path: "/api/admin/impersonations/{id}", do: (*exchange).endView},
	{on: agents, method: "GET", path: viewPath, do: (*exchange).openView, needs: signedIn},
}

// ownPath is the workspace of the staff themselves. Its people are the staff.
const ownPath = "/api/workspaces/admin"

// ownRoutes are those of that workspace.
var ownRoutes = []route{
	{on: admin, method: "GET", path: ownPath, do: (*exchange).getOwn},
	{on: admin, method: "GET", path: ownPath + "/people", do: (*exchange).listStaff},
	{on: admin, method: "GET", path: ownPath + "/people/{account}", do: (*exchange).getStaff},
	{on: admin, method: "GET", path: ownPath + "/keys", do: (*exchange).listKeys},
	{on: admin, method: "POST", path: ownPath + "/keys", do: (*exchange).createKey},
	{on: admin, method: "POST", path: ownPath + "/keys/{key}/rotate", do: (*exchange).rotateKey},
	{on: admin, method: "DELETE", path: ownPath + "/keys/{key}", do: (*exchange).revokeKey},
	{on: admin, method: "GET", path: ownPath + "/agents", do: listed(agentsPath, "")},
	{on: admin, method: "GET", path: ownPath + "/agents/{name}/conversations", do: (*exchange).listConversations},
	{on: admin, method: "GET", path: ownPath + "/workflows", do: listed(workflowsPath, "")},
	{on: admin, method: "GET", path: ownPath + "/workflows/{name}", do: (*exchange).getWorkflow},
	{on: admin, method: "POST", path: ownPath + "/workflows/{name}/run", do: (*exchange).runWorkflow},
	{on: admin, method: "GET", path: ownPath + "/runs", do: listed(runsPath, "")},
	{on: admin, method: "GET", path: ownPath + "/runs/{run}", do: (*exchange).getRun},
	{on: admin, method: "GET", path: ownPath + "/runs/{run}/events", do: (*exchange).runEvents},
	{on: admin, method: "POST", path: ownPath + "/runs/{run}/cancel", do: (*exchange).cancelRun},
	{on: admin, method: "DELETE", path: ownPath + "/runs/{run}", do: (*exchange).eraseRun},
	{on: admin, method: "DELETE", path: ownPath + "/agents/{name}/conversations/{instance...}", do: (*exchange).eraseConversation},
	{on: admin, method: "GET", path: ownPath + "/secrets", do: (*exchange).listSecrets},
	{on: admin, method: "GET", path: ownPath + "/secrets/{secret}", do: (*exchange).getSecret},
	{on: admin, method: "PUT", path: ownPath + "/secrets/{secret}", do: (*exchange).putSecret},
	{on: admin, method: "DELETE", path: ownPath + "/secrets/{secret}", do: (*exchange).deleteSecret},
	{on: admin, method: "GET", path: ownPath + "/audit", do: (*exchange).workspaceAudit},
	{on: admin, method: "GET", path: ownPath + "/audit/export", do: (*exchange).exportWorkspaceAudit},
}
