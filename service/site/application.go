package site

import (
	"context"
	"net/http"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
)

// applications are the addresses of the web application. What it shows there is its own affair; who may open it is told here, and
// everything that it asks for is judged by itself.
var applications = append([]Row{
	opens(workspacePage, access.SignedIn, access.Agents, access.Platform),
	opens(workspacePage+below, access.SignedIn, access.Agents, access.Platform),
	opens(workspacePage, access.Staff, access.Admin),
	opens(workspacePage+below, access.Staff, access.Admin),
	opens(staffPage, access.Staff, access.Admin),
	opens(staffPage+below, access.Staff, access.Admin),
	// Nothing is below this one: there the API is.
	opens("/api", access.Staff, access.Admin),
}, staffPages("people", "customers", "runs", "agents", "projects", "mcps", "settings/secret-store", "health", "storage", "audit", "impersonations")...)

const (
	workspacePage = "/w/{username}/{business}"
	staffPage     = "/w/" + scope.Admin
	below         = "/{page...}"
)

// opens is an address of the application.
func opens(path string, need access.Need, on ...access.Surface) Row {
	return Row{On: on, Method: http.MethodGet, Path: path, Need: need, Do: func(context.Context, *Visit) (Next, error) {
		return Next{Application: true}, nil
	}}
}

// staffPages are the lists of the whole service, and what is below each.
func staffPages(nouns ...string) (all []Row) {
	for _, noun := range nouns {
		all = append(all, opens("/"+noun, access.Staff, access.Admin), opens("/"+noun+below, access.Staff, access.Admin))
	}
	return all
}

// enterWorkspace leads into a workspace, by its scope.
func (v *Visit) enterWorkspace(address string, n page.Notice) Next {
	if at, err := scope.Parse(address); err == nil && v.Application {
		return Next{To: v.opened(at)}
	}
	return Next{To: page.WorkspacesPath, Notice: n}
}

// opened is the address of a workspace in the application.
func (v *Visit) opened(at scope.Scope) string {
	return v.Address(access.Agents) + pathOf(at)
}

// pathOf is where the pages of a workspace begin, on every surface.
func pathOf(at scope.Scope) string { return "/w/" + at.Username + "/" + at.Business }
