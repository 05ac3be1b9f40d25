package gateway

import "slices"

// projectRoutes are those of projects, their files and what they take, in every workspace and in that of the staff, and what
// teams may do in a project. Their handlers look at the origin themselves, after a key.
var projectRoutes = slices.Concat(withProjects(spaces, below), withProjects(admin, ownPath), []route{
	{on: spaces, method: "PUT", path: below + "/teams/{team}/projects/{slug}", do: (*exchange).putTeamProject, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/teams/{team}/projects/{slug}", do: (*exchange).dropTeamProject, needs: anyOrigin},
})

// withProjects are the routes of a workspace that may have projects.
func withProjects(on []Surface, workspace string) []route {
	project := workspace + "/projects/{slug}"
	return []route{
		{on: on, method: "GET", path: workspace + "/projects", do: (*exchange).listProjects, needs: anyOrigin},
		{on: on, method: "POST", path: workspace + "/projects", do: (*exchange).createProject, needs: anyOrigin},
		{on: on, method: "GET", path: project, do: (*exchange).getProject, needs: anyOrigin},
		{on: on, method: "PATCH", path: project, do: (*exchange).patchProject, needs: anyOrigin},
		{on: on, method: "DELETE", path: project, do: (*exchange).deleteProject, needs: anyOrigin},
		{on: on, method: "GET", path: project + "/files", do: (*exchange).listFiles, needs: anyOrigin},
		{on: on, method: "GET", path: project + "/files/{path...}", do: (*exchange).getFile, needs: anyOrigin},
		{on: on, method: "PUT", path: project + "/files/{path...}", do: (*exchange).putFile, needs: anyOrigin},
		{on: on, method: "DELETE", path: project + "/files/{path...}", do: (*exchange).deleteFile, needs: anyOrigin},
		{on: on, method: "POST", path: project + "/move", do: (*exchange).moveFile, needs: anyOrigin},
		{on: on, method: "PUT", path: project + "/repository", do: (*exchange).connectRepository, needs: anyOrigin},
		{on: on, method: "DELETE", path: project + "/repository", do: (*exchange).disconnectRepository, needs: anyOrigin},
		{on: on, method: "POST", path: project + "/pull", do: (*exchange).pullRepository, needs: anyOrigin},
		{on: on, method: "GET", path: workspace + "/storage", do: (*exchange).getStorage, needs: anyOrigin},
	}
}
