package service

import (
	"context"

	"svc.dev/svc"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/toolbox"
)

// openTools opens what agents may be given. A runtime alone opens the files by itself, if it has an audit log to tell of what it
// changes; without one it has none.
func (n *node) openTools() (err error) {
	fetch, err := outward.New(outward.Config{})
	if err != nil {
		return err
	}
	c := toolbox.Config{
		Runtime: func() *svc.Runtime { return n.rt }, Fetch: fetch, May: n.may, Admit: n.gauge.Admit, Log: n.log,
	}
	if n.projects == nil && n.audit != nil {
		if err := n.openFiles(); err != nil {
			return err
		}
	}
	if n.projects != nil {
		c.Projects = n.projects
	}
	n.tools, err = toolbox.New(c)
	return err
}

// may judges the one whose prompt or run a tool works for.
func (n *node) may(ctx context.Context, call svc.Call, need access.Need, project string) (access.Acting, error) {
	return access.Act(ctx, n.db, scope.ParseBy(call.By), need, access.Place{Scope: call.Scope, Project: project})
}
