package operation

import (
	"context"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// events are what was done in a workspace, also by staff.
var events = everywhere("workspace",
	list(W+"/audit", access.May(workspace.Review), listAudit).says("List what was done in a workspace, the newest first."),
	get(W+"/audit/export", access.May(workspace.Review), exportAudit).says("All that was done in a workspace, a line each, the oldest first."),
)

type eventQuery struct {
	listing.Query
	Action string `query:"action"`
	Actor  string `query:"actor"`
}

func listAudit(ctx context.Context, c Call, in eventQuery) (listing.Page[audit.Event], error) {
	return c.Audit.Page(ctx, audit.Query{Scope: c.Scope, Action: in.Action, Actor: in.Actor, Query: in.Query})
}

// Export is all that was done in a workspace, event by event.
type Export func(ctx context.Context, each func(audit.Event) error) error

func exportAudit(_ context.Context, c Call, _ struct{}) (Export, error) {
	return func(ctx context.Context, each func(audit.Event) error) error {
		return c.Audit.Export(ctx, c.Scope, each)
	}, nil
}
