package gateway

import (
	"cmp"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/operation"
)

// export answers with events, a line each.
func (x *exchange) export(events operation.Export) error {
	h := x.Out.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	return events(x.Ctx(), func(e audit.Event) error {
		line, err := e.MarshalJSON()
		if err = cmp.Or(err, x.Still()); err != nil {
			return err
		}
		_, err = x.Out.Write(append(line, '\n'))
		return err
	})
}
