package gateway

import "svc.dev/svc/service/workspace"

// The scopes of keys.
const (
	agentsRead    = "agents:read"
	runsRead      = "runs:read"
	workflowsRun  = "workflows:run"
	projectsRead  = "projects:read"
	projectsWrite = "projects:write"
)

// nounRoutes are what every workspace holds, and that of the staff as well. A key does what its maker may in the workspace. One that
// staff make says so, and lives a week at most.
func nounRoutes(on []Surface, root string) []route {
	project := root + "/projects/{slug}"
	reads, works := may(workspace.Read).Key(projectsRead).InProject(), may(workspace.Work).Key(projectsWrite).InProject()
	return []route{
		{on, "GET", root + "/keys", may(workspace.Review), (*exchange).listKeys, 0},
		{on, "POST", root + "/keys", may(workspace.Manage).Fresh(), (*exchange).createKey, 0},
		{on, "POST", root + "/keys/{key}/rotate", may(workspace.Manage), (*exchange).rotateKey, 0},
		{on, "DELETE", root + "/keys/{key}", may(workspace.Manage), (*exchange).revokeKey, 0},

		{on, "GET", root + "/secrets", may(workspace.Review), (*exchange).listSecrets, 0},
		{on, "GET", root + "/secrets/{secret}", may(workspace.Review), (*exchange).getSecret, 0},
		{on, "PUT", root + "/secrets/{secret}", may(workspace.Manage), (*exchange).putSecret, 0},
		{on, "DELETE", root + "/secrets/{secret}", may(workspace.Manage).Fresh(), (*exchange).deleteSecret, 0},
		{on, "GET", root + "/audit", may(workspace.Review), (*exchange).workspaceAudit, 0},
		{on, "GET", root + "/audit/export", may(workspace.Review), (*exchange).exportWorkspaceAudit, 0},

		{on, "GET", root + "/agents", may(workspace.Read).Key(agentsRead), listed(agentsPath), told},
		{on, "GET", root + "/agents/{name}/conversations", may(workspace.Read).Key(agentsRead), (*exchange).listConversations, told},
		{on, "DELETE", root + "/agents/{name}/conversations/{instance...}", may(workspace.Manage), (*exchange).eraseConversation, 0},
		{on, "GET", root + "/workflows", may(workspace.Read).Key(runsRead), listed(workflowsPath), told},
		{on, "GET", root + "/workflows/{name}", may(workspace.Read).Key(runsRead), (*exchange).getWorkflow, told},
		{on, "POST", root + "/workflows/{name}/run", may(workspace.Work).Key(workflowsRun), (*exchange).runWorkflow, told},
		{on, "GET", root + "/runs", may(workspace.Read).Key(runsRead), listed(runsPath), told},
		{on, "GET", root + "/runs/{run}", may(workspace.Read).Key(runsRead), (*exchange).getRun, told},
		{on, "GET", root + "/runs/{run}/events", may(workspace.Read).Key(runsRead), (*exchange).runEvents, told},
		{on, "POST", root + "/runs/{run}/cancel", may(workspace.Work).Key(workflowsRun), (*exchange).cancelRun, told},
		{on, "DELETE", root + "/runs/{run}", may(workspace.Manage), (*exchange).eraseRun, 0},

		{on, "GET", root + "/projects", reads, (*exchange).listProjects, told},
		{on, "POST", root + "/projects", works, (*exchange).createProject, told},
		{on, "GET", project, reads, (*exchange).getProject, told},
		{on, "PATCH", project, works, (*exchange).patchProject, told},
		{on, "DELETE", project, works, (*exchange).deleteProject, told},
		{on, "GET", project + "/files", reads, (*exchange).listFiles, told},
		{on, "GET", project + "/files/{path...}", reads, (*exchange).getFile, told},
		{on, "PUT", project + "/files/{path...}", works, (*exchange).putFile, told},
		{on, "DELETE", project + "/files/{path...}", works, (*exchange).deleteFile, told},
		{on, "POST", project + "/move", works, (*exchange).moveFile, told},
		{on, "PUT", project + "/repository", works, (*exchange).connectRepository, told},
		{on, "DELETE", project + "/repository", works, (*exchange).disconnectRepository, told},
		{on, "POST", project + "/pull", works, (*exchange).pullRepository, told},
		{on, "GET", root + "/storage", may(workspace.Enter).Key(projectsRead), (*exchange).getStorage, told},
	}
}
