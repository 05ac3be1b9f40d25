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
	{on: admin, method: "GET", path: "/api/admin/secret-store", do: (*exchange).secretStore},
	{on: admin, method: "GET", path: "/api/admin/providers", do: (*exchange).listProviders},

	{on: admin, method: "POST", path: "/api/admin/impersonations", do: (*exchange).startView},
	{on: admin, method: "DELETE", path: "/api/admin/impersonations/{id}", do: (*exchange).endView},
	{on: agents, method: "GET", path: viewPath, do: (*exchange).openView, needs: signedIn},
}
