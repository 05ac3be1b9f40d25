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
)

type eventQuery struct {
	listing.Query
	Action string `query:"action"`
	Actor  string `query:"actor"`
}

func listAudit(ctx context.Context, c Call, in eventQuery) (listing.Page[audit.Event], error) {
	return c.Audit.Page(ctx, audit.Query{Scope: c.Scope, Action: in.Action, Actor: in.Actor, Query: in.Query})
}
