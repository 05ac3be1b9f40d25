package gateway

// below is the path of a workspace.
const below = "/api/workspaces/{username}/{business}"

// workspaceRoutes are those of a workspace and its people. Their handlers look at the origin themselves, after a key. On Admin
// they have the authority of the staff.
var workspaceRoutes = []route{
	{on: platform, method: "GET", path: "/api/workspaces", do: (*exchange).listWorkspaces, needs: anyOrigin},
	{on: platform, method: "POST", path: "/api/workspaces", do: (*exchange).createWorkspace, needs: anyOrigin},
	{on: platform, method: "POST", path: "/api/invitations/accept", do: (*exchange).acceptInvitation, needs: signedIn},

	{on: spaces, method: "GET", path: below, do: (*exchange).getWorkspace, needs: anyOrigin},
	{on: spaces, method: "PATCH", path: below, do: (*exchange).patchWorkspace, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below, do: (*exchange).deleteWorkspace, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/archive", do: (*exchange).archiveWorkspace, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/unarchive", do: (*exchange).unarchiveWorkspace, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/restore", do: (*exchange).restoreWorkspace, needs: anyOrigin},

	{on: spaces, method: "GET", path: below + "/people", do: (*exchange).listMembers, needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/people/{account}", do: (*exchange).getMember, needs: anyOrigin},
	{on: spaces, method: "PATCH", path: below + "/people/{account}", do: (*exchange).patchMember, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/people/{account}", do: (*exchange).deleteMember, needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/invitations", do: (*exchange).listInvitations, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/invitations", do: (*exchange).createInvitation, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/invitations/{invitation}", do: (*exchange).deleteInvitation, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/invitations/{invitation}/resend", do: (*exchange).resendInvitation, needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/teams", do: (*exchange).listTeams, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/teams", do: (*exchange).createTeam, needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/teams/{team}", do: (*exchange).getTeam, needs: anyOrigin},
	{on: spaces, method: "PATCH", path: below + "/teams/{team}", do: (*exchange).patchTeam, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/teams/{team}", do: (*exchange).deleteTeam, needs: anyOrigin},
	{on: spaces, method: "PUT", path: below + "/teams/{team}/members/{account}", do: (*exchange).putTeamMember, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/teams/{team}/members/{account}", do: (*exchange).dropTeamMember, needs: anyOrigin},

	{on: spaces, method: "GET", path: below + "/secrets", do: (*exchange).listSecrets, needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/secrets/{secret}", do: (*exchange).getSecret, needs: anyOrigin},
	{on: spaces, method: "PUT", path: below + "/secrets/{secret}", do: (*exchange).putSecret, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/secrets/{secret}", do: (*exchange).deleteSecret, needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/audit", do: (*exchange).workspaceAudit, needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/audit/export", do: (*exchange).exportWorkspaceAudit, needs: anyOrigin},
}
