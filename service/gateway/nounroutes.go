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

// nounRoutes are what every workspace holds that is a stream, a file or the runtime's, and that of the staff as well. A key does what
// its maker may in the workspace.
func nounRoutes(on []Surface, root string) []route {
	project := root + "/projects/{slug}"
	reads, works := may(workspace.Read).Key(projectsRead).InProject(), may(workspace.Work).Key(projectsWrite).InProject()
	return []route{
		{on, "GET", root + "/audit/export", may(workspace.Review), (*exchange).exportWorkspaceAudit, 0},

		{on, "GET", root + "/agents", may(workspace.Read).Key(agentsRead), listed(agentsPath), told},
		{on, "GET", root + "/agents/{name}/conversations", may(workspace.Read).Key(agentsRead), (*exchange).listConversations, told},
		{on, "DELETE", root + "/agents/{name}/conversations/{instance...}", may(workspace.Manage), (*exchange).eraseConversation, apart},
		{on, "GET", root + "/workflows", may(workspace.Read).Key(runsRead), listed(workflowsPath), told},
		{on, "GET", root + "/workflows/{name}", may(workspace.Read).Key(runsRead), (*exchange).getWorkflow, told},
		{on, "POST", root + "/workflows/{name}/run", may(workspace.Work).Key(workflowsRun), (*exchange).runWorkflow, told | apart},
		{on, "GET", root + "/runs", may(workspace.Read).Key(runsRead), listed(runsPath), told},
		{on, "GET", root + "/runs/{run}", may(workspace.Read).Key(runsRead), (*exchange).getRun, told},
		{on, "GET", root + "/runs/{run}/events", may(workspace.Read).Key(runsRead), (*exchange).runEvents, told},
		{on, "POST", root + "/runs/{run}/cancel", may(workspace.Work).Key(workflowsRun), (*exchange).cancelRun, told | apart},
		{on, "DELETE", root + "/runs/{run}", may(workspace.Manage), (*exchange).eraseRun, apart},

		{on, "GET", project + "/files", reads, (*exchange).listFiles, told},
		{on, "GET", project + "/files/{path...}", reads, (*exchange).getFile, told},
		{on, "PUT", project + "/files/{path...}", works, (*exchange).putFile, told | apart},
		{on, "DELETE", project + "/files/{path...}", works, (*exchange).deleteFile, told | apart},
		{on, "POST", project + "/move", works, (*exchange).moveFile, told},
	}
}
