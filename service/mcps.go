package service

import (
	"context"

	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/toolbox"
)

// openMCPs opens the MCP servers of workspaces. A gateway sets them up for people, and a runtime calls their tools, each by
// connections of its own.
func (h *house) openMCPs(context.Context) error {
	guard, err := h.config.MCPGuard()
	if err != nil {
		return err
	}
	h.mcps, err = mcp.New(mcp.Config{
		DB: h.db, Secrets: h.secrets, Audit: h.audit, Outward: guard, Callback: h.surfaces[0].URL.String() + operation.MCPCallbackPath,
		Programs: scope.Admin, Log: h.log,
	})
	return err
}

// toolNames are the tools that an agent of a workspace may be given. In no workspace those are the ones that all have.
func (h *house) toolNames(ctx context.Context, scope string) (names []string, err error) {
	if scope != "" {
		if names, err = h.mcps.ToolNames(ctx, scope); err != nil {
			return nil, err
		}
	}
	for _, e := range toolbox.Catalogue() {
		names = append(names, e.Name)
	}
	return names, nil
}
