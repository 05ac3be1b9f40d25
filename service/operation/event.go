package operation

import (
	"context"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
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
	From   string `query:"from"` // RFC 3339, of the oldest; empty: the first
	To     string `query:"to"`   // RFC 3339, that no event has reached; empty: the last
}

// query is without whose events they are.
func (in eventQuery) query() (q audit.Query, err error) {
	q = audit.Query{Action: in.Action, Actor: in.Actor, Query: in.Query}
	if q.From, err = momentOf("from", in.From); err != nil {
		return q, err
	}
	q.To, err = momentOf("to", in.To)
	return q, err
}

// momentOf reads a moment of a query; an empty one is zero.
func momentOf(field, text string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, strictjson.Wrong(field, strictjson.Invalid)
	}
	return at, nil
}

func listAudit(ctx context.Context, c Call, in eventQuery) (listing.Page[audit.Event], error) {
	q, err := in.query()
	if err != nil {
		return listing.Page[audit.Event]{}, err
	}
	q.Scope = c.Scope
	return c.Audit.Page(ctx, q)
}

// Export is all that was done in a workspace, event by event.
type Export func(ctx context.Context, each func(audit.Event) error) error

func exportAudit(_ context.Context, c Call, _ struct{}) (Export, error) {
	return func(ctx context.Context, each func(audit.Event) error) error {
		return c.Audit.Export(ctx, c.Scope, each)
	}, nil
}
