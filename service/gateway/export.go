package gateway

import (
	"cmp"
	"mime"
	"net/http"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/operation"
)

// markdown answers with a file that a browser keeps.
func (x *exchange) markdown(m operation.Markdown) error {
	x.Out.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": m.Name}))
	return x.Send(http.StatusOK, "text/markdown; charset=utf-8", "no-store", m.Text)
}

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
