package toolbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/project"
)

// fileTime is how long a tool may take over files.
const fileTime = 30 * time.Second

// place is a project that a call may use, and in whose name.
type place struct {
	access.Acting
	project.Owner
	slug  string
	agent string // that the call is of
}

// enter is the project of a call, if the agent was given it and the one who prompted may.
func (h hand) enter(ctx context.Context, need access.Need, slug string) (place, error) {
	if h.config.Projects == nil {
		return place{}, noFiles()
	}
	if !granted(h.grant.Projects, slug) {
		return place{}, fault.New(fault.Forbidden, "This agent was not given the project.", "Those that it was given: "+h.projects()+".")
	}
	call, by, err := h.acting(ctx, need, slug)
	return place{by, project.Owner{Workspace: by.Workspace, Scope: call.Scope}, slug, call.Agent}, err
}

func noFiles() error {
	return fault.New(fault.Unavailable, "The files of projects cannot be reached from here.", "")
}

// projects names those that the agent was given.
func (h hand) projects() string {
	switch {
	case slices.Contains(h.grant.Projects, All):
		return "all of the workspace"
	case len(h.grant.Projects) == 0:
		return "none"
	}
	return strings.Join(h.grant.Projects, ", ")
}

type wanted struct {
	Project   string `json:"project,omitempty" jsonschema:"The project's slug. Without it the projects are listed."`
	Prefix    string `json:"prefix,omitempty" jsonschema:"How the paths begin, such as src/ for what lies in a folder."`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"List all files below, instead of one level with its folders."`
	Cursor    string `json:"cursor,omitempty" jsonschema:"Where the list before ended, to go on there."`
}

func (h hand) listFiles() svc.Tool {
	return define(h, "list_files", "List the files of a project by their paths, with their sizes; or the projects that there are.", fileTime,
		func(ctx context.Context, in wanted) (string, error) {
			if in.Project == "" {
				return h.listProjects(ctx, in.Cursor)
			}
			at, err := h.enter(ctx, readsProjects, in.Project)
			if err != nil {
				return "", err
			}
			found, err := h.config.Projects.Files(ctx, at.Owner, at.slug, project.FileQuery{
				Prefix: in.Prefix, Folded: !in.Recursive, Query: listing.Query{Cursor: in.Cursor, Limit: listing.MaxLimit},
			})
			if err != nil {
				return "", err
			}
			var a passage
			for _, f := range found.Items {
				if f.Kind == project.KindFolder {
					a.line("%s/", f.Path)
				} else {
					a.line("%s\t%d bytes\t%s", f.Path, f.Bytes, f.UpdatedAt.Format(time.RFC3339))
				}
			}
			return a.page(len(found.Items), found.Next), nil
		})
}

// page ends a list.
func (a *passage) page(items int, next string) string {
	switch {
	case items == 0:
		a.hint("nothing is there")
	case a.full:
		a.hint("the list is cut here: ask for a longer prefix")
	case next != "":
		a.hint("there is more: go on with cursor %q", next)
	}
	return a.String()
}

// listProjects lists those of the workspace that the agent was given.
func (h hand) listProjects(ctx context.Context, cursor string) (string, error) {
	if h.config.Projects == nil {
		return "", noFiles()
	}
	call, by, err := h.acting(ctx, readsProjects, "")
	if err != nil {
		return "", err
	}
	found, err := h.config.Projects.List(ctx, project.Owner{Workspace: by.Workspace, Scope: call.Scope}, listing.Query{Cursor: cursor, Limit: listing.MaxLimit})
	if err != nil {
		return "", err
	}
	var a passage
	n := 0
	for _, p := range found.Items {
		if granted(h.grant.Projects, p.Slug) {
			n++
			a.line("%s\t%s\t%d files", p.Slug, p.Name, p.FileCount)
		}
	}
	if found.Next != "" {
		n++
	}
	return a.page(n, found.Next), nil
}

type reading struct {
	Project string `json:"project" jsonschema:"The project's slug."`
	Path    string `json:"path" jsonschema:"The file's path in the project."`
	From    int    `json:"from,omitempty" jsonschema:"The first line, from 1."`
	Lines   int    `json:"lines,omitempty" jsonschema:"How many lines, 400 if not said."`
}

// usualLines is how many lines are read when nobody says how many.
const usualLines = 400

func (h hand) readFile() svc.Tool {
	return define(h, "read_file", "Read a text file of a project, or some lines of it. Lines are numbered.", fileTime,
		func(ctx context.Context, in reading) (string, error) {
			at, err := h.enter(ctx, readsProjects, in.Project)
			if err != nil {
				return "", err
			}
			f, err := h.config.Projects.Open(ctx, at.Owner, at.slug, in.Path)
			if err != nil {
				return "", err
			}
			defer f.Close()
			return in.read(ctx, f)
		})
}

// read numbers the lines that are asked for, as many as there is room for.
func (in reading) read(ctx context.Context, f *project.Content) (string, error) {
	r, err := textOf(f)
	if err != nil {
		return "", err
	}
	first, most := max(in.From, 1), in.Lines
	if most <= 0 {
		most = usualLines
	}
	var a passage
	last := 0
	for l, err := range linesOf(ctx, r) {
		if err != nil {
			return "", err
		}
		last = l.number
		if l.number < first {
			continue
		}
		if l.number >= first+most || !a.line("%6d\t%s", l.number, l.shown()) {
			a.hint("the file goes on (%d bytes in all): read on with from=%d", f.Bytes, l.number)
			return a.String(), nil
		}
	}
	switch {
	case last == 0:
		a.hint("the file is empty")
	case last < first:
		a.hint("the file has %d lines", last)
	}
	return a.String(), nil
}
