package gateway

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/surface"
)

// operations are the routes that are rows of the table.
func operations() (all []route) {
	for _, r := range operation.Rows() {
		all = append(all, route{r, operates(r)})
	}
	return all
}

// operates serves a row.
func operates(r operation.Row) func(*exchange) error {
	return func(x *exchange) error {
		x.most = r.Most
		out, err := r.Do(x.Ctx(), x.call(), source{x})
		if err != nil {
			return err
		}
		switch out := out.(type) {
		case operation.Question:
			if x.slip != nil {
				return x.relay(out)
			}
			return x.pass(out)
		case operation.Download:
			defer out.Close()
			return x.download(out.Content)
		case operation.Export:
			return x.export(out)
		case operation.Markdown:
			return x.markdown(out)
		case operation.Onward:
			return x.lead(r.Status(), out)
		case operation.Document:
			return x.openAPI()
		case operation.Probing:
			return x.probe()
		}
		return x.tellOutcome(r.Answer(out))
	}
}

// call is the request as an operation takes it.
func (x *exchange) call() operation.Call {
	return operation.Call{
		Visitor: x.v, Rooms: &x.g.Rooms, Scope: x.address(), Browser: browser{x}, Surface: x.Surface, ID: x.ID, Head: x.Request.Method == http.MethodHead,
		Enter: x.enterOther, Transfer: x.transfer, Ask: x.ask,
	}
}

// enterOther lets the same person into a workspace that the path does not name, as username/business; empty is the one that every
// person has.
func (x *exchange) enterOther(need access.Need, workspace string) (context.Context, *access.Visitor, error) {
	username, business, _ := strings.Cut(cmp.Or(workspace, x.who.Account.Username+"/"+scope.Personal), "/")
	err := x.enter(need, access.Place{Scope: scope.Of(username, business).String()})
	return x.Ctx(), x.v, err
}

// lead sends a browser on, or shows it a page at once.
func (x *exchange) lead(status int, to operation.Onward) error {
	if to.Page != nil {
		return x.show(http.StatusOK, to.Page)
	}
	return x.See(status, surface.WithNotice(to.To, to.Notice))
}

// pass lets the runtime answer what an operation asks of it.
func (x *exchange) pass(q operation.Question) error {
	query := x.Request.URL.Query()
	if q.Alone {
		query = url.Values{}
	}
	maps.Copy(query, q.Query)
	if q.Alone || q.Query != nil {
		x.Request.URL.RawQuery = query.Encode()
	}
	return x.forward(errand{claims: x.v.Claims(x.ID), path: q.Path, header: allowed(x.Request.Header)})
}

// tellOutcome answers with what an operation came to.
func (x *exchange) tellOutcome(a operation.Answer) error {
	h := x.Out.Header()
	if a.Tag != "" {
		h.Set("ETag", a.Tag)
	}
	switch {
	case strings.Contains(a.At, "://"):
		h.Set("Location", a.At)
	case a.At != "":
		h.Set("Location", path.Join(x.Request.URL.EscapedPath(), a.At))
	}
	switch {
	case a.Body == nil:
		return x.None()
	case a.List:
		return x.List(a.Body)
	}
	return x.JSON(a.Status, a.Body)
}

// openAPI answers with the description of this API.
func (x *exchange) openAPI() error {
	body, err := operation.JSON()
	if err != nil {
		return err
	}
	return x.Send(http.StatusOK, surface.TypeJSON, "public, max-age=300", body)
}

// source is the request of an exchange as operations see it.
type source struct{ x *exchange }

func (s source) Param(name string) string     { return s.x.params[name] }
func (s source) Query(name string) string     { return s.x.Request.URL.Query().Get(name) }
func (s source) Page() (listing.Query, error) { return s.x.Query() }
func (s source) Match() (int64, error)        { return s.x.IfMatch() }

// Body reads a JSON body into a struct, strictly; count may refuse it before.
func (s source) Body(into any, count func(context.Context) error) error {
	body, err := s.x.body(surface.TypeJSON, count)
	if err != nil {
		return err
	}
	if err := s.x.Afford(memory.Decoded(body)); err != nil {
		return err
	}
	if s.x.Request.Method == http.MethodPatch {
		return strictjson.Merge(body, into)
	}
	return strictjson.Decode(body, into)
}

// Delivery reads what the provider sends, and does not wait for it long.
func (s source) Delivery() (operation.Delivery, error) {
	release, err := s.x.slot()
	if err != nil {
		return operation.Delivery{}, err
	}
	s.x.Count(s.x.Stranger())
	body, err := s.x.Whole(maxDelivery)
	if err != nil {
		release()
	}
	return operation.Delivery{Header: s.x.Request.Header, Body: body, Release: release}, err
}

// body is the body of that type, of somebody who may still send it. Limits count it before it is looked at.
func (x *exchange) body(want string, limits ...func(context.Context) error) ([]byte, error) {
	body, err := x.Body(want, x.most)
	if err != nil {
		return nil, err
	}
	for _, count := range limits {
		if err := count(x.Ctx()); err != nil {
			return nil, err
		}
	}
	if err := x.Still(); err != nil || x.slip == nil {
		return body, err
	}
	x.slip.Body = body
	return body, x.recall()
}

func (s source) Condition() project.Condition {
	h := s.x.Request.Header
	return project.Condition{Match: strings.Join(h.Values("If-Match"), ", "), NoneMatch: strings.Join(h.Values("If-None-Match"), ", ")}
}

// Upload is the body of a file, whatever its type and however long it takes, as long as it comes.
func (s source) Upload() (u project.Upload, err error) {
	if len(s.x.Request.Header.Values("Content-Encoding")) > 0 {
		return u, fault.New(fault.UnsupportedMediaType, "A file is kept as it is sent.", "Send it without Content-Encoding.")
	}
	if len(s.x.Request.Header.Values("Content-Range")) > 0 {
		return u, fault.New(fault.InvalidHeader, "A file is sent as a whole.", "Send it without Content-Range.")
	}
	body := &pacedBody{s.x.Request.Body, s.x.paced(http.NewResponseController(s.x.Out).SetReadDeadline)}
	return project.Upload{Body: body, Size: s.x.Request.ContentLength, Condition: s.Condition()}, nil
}
