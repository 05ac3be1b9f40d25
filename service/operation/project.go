package operation

import (
	"context"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/installation"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/repository"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/workspace"
)

// What a key must have been made for to read and to change projects.
const (
	projectsRead  = "projects:read"
	projectsWrite = "projects:write"
)

var (
	readsProjects = access.May(workspace.Read).Key(projectsRead).InProject()
	worksOnThem   = access.May(workspace.Work).Key(projectsWrite).InProject()
)

// repositoryFaults are what a provider may have against it.
var repositoryFaults = []string{fault.ItemNotFound, fault.InvalidRequest, fault.AlreadyRunning, fault.UnknownProvider, fault.ProviderConnectionRequired, github.NotYours,
	fault.ProviderUnavailable, fault.ProviderNotConfigured, github.RateLimited, fault.Busy}

const projectPath = W + "/projects/{slug}"

// projects are those of a workspace, the repositories that they follow, and what all of it stores.
var projects = everywhere("project",
	list(W+"/projects", readsProjects, listProjects).told().says("List the projects of a workspace."),
	create(W+"/projects", worksOnThem, createProject).told().says("Make a project.", fault.NameTaken),
	get(projectPath, readsProjects, getProject).told().says("Read a project.", fault.ItemNotFound),
	change(projectPath, worksOnThem, patchProject).told().says("Change a project.", fault.ItemNotFound),
	drop(projectPath, worksOnThem, deleteProject).told().says("Delete a project with all of its files.", fault.ItemNotFound, fault.InUse),
	row("PUT", projectPath+"/repository", shows, worksOnThem, connectRepository).told().says("Have a project follow a repository.", repositoryFaults...),
	drop(projectPath+"/repository", worksOnThem, disconnectRepository).told().says("Stop following a repository.", fault.ItemNotFound),
	verb(projectPath+"/pull", worksOnThem, pullRepository).told().says("Bring a project to where its repository is.", repositoryFaults...),
	list(W+"/installations", access.May(workspace.Read), listInstallations).told().says("List where the app of a provider is installed for a workspace, and where that waits for approval."),
	get(W+"/storage", access.May(workspace.Enter).Key(projectsRead), getStorage).told().says("Say how much a workspace stores, and how much it may."),
)

func (c Call) owner() project.Owner { return project.Owner{Workspace: c.Member.ID, Scope: c.Scope} }

func listProjects(ctx context.Context, c Call, in page) (listing.Page[project.Project], error) {
	return c.Projects.List(ctx, c.owner(), in.Query)
}

type newProject struct{ Body project.Draft }

func createProject(ctx context.Context, c Call, in newProject) (project.Project, error) {
	return c.Projects.Create(ctx, c.Actor(), c.owner(), in.Body)
}

type projectSlug struct {
	Slug string `path:"slug"`
}

func getProject(ctx context.Context, c Call, in projectSlug) (project.Project, error) {
	return c.Projects.Get(ctx, c.owner(), in.Slug)
}

type projectChange struct {
	Slug  string `path:"slug"`
	Match Match
	Body  project.Edit
}

func patchProject(ctx context.Context, c Call, in projectChange) (project.Project, error) {
	return c.Projects.Patch(ctx, c.Actor(), c.owner(), in.Slug, int64(in.Match), in.Body)
}

type projectRemoval struct {
	Slug  string `path:"slug"`
	Match Match
}

func deleteProject(ctx context.Context, c Call, in projectRemoval) error {
	return c.Projects.Delete(ctx, c.Actor(), c.owner(), in.Slug, int64(in.Match))
}

type connection struct {
	Slug  string `path:"slug"`
	Match Match
	Body  project.Repository
}

func connectRepository(ctx context.Context, c Call, in connection) (p project.Project, err error) {
	release, err := c.Fetching(c.Scope)
	if err != nil {
		return p, err
	}
	defer release()
	return c.Repositories.Connect(ctx, c.Actor(), c.owner(), in.Slug, int64(in.Match), in.Body)
}

func disconnectRepository(ctx context.Context, c Call, in projectRemoval) error {
	_, err := c.Repositories.Disconnect(ctx, c.Actor(), c.owner(), in.Slug, int64(in.Match))
	return err
}

func pullRepository(ctx context.Context, c Call, in projectSlug) (done repository.Pulled, err error) {
	release, err := c.Fetching(c.Scope)
	if err != nil {
		return done, err
	}
	defer release()
	return c.Repositories.Pull(ctx, c.Actor(), c.owner(), in.Slug)
}

func listInstallations(ctx context.Context, c Call, _ page) (listing.Page[installation.Installation], error) {
	all, err := c.Installations.Of(ctx, c.Scope)
	return listing.Page[installation.Installation]{Items: all}, err
}

// getStorage tells everybody in a workspace how full it is, also those who only pay for it.
func getStorage(ctx context.Context, c Call, _ struct{}) (storage.Storage, error) {
	return c.Quotas.Of(ctx, c.Scope)
}
