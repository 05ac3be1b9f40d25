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
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/scope"
)

// operations are the routes that are rows of the table.
func operations() (all []route) {
	for _, r := range operation.Rows() {
		var traits trait
		if r.Told {
			traits |= told
		}
		if r.Secret {
			traits |= secretly
		}
		if r.Apart {
			traits |= apart
		}
		if r.Shared {
			traits |= shared
		}
		if r.AnyOrigin {
			traits |= anyOrigin
		}
		all = append(all, route{r.On, r.Method, r.Path, r.Need, operates(r), traits})
	}
	return all
}

// operates serves a row.
func operates(r operation.Row) func(*exchange) error {
	return func(x *exchange) error {
		x.most = r.Most
		out, err := r.Do(x.ctx(), x.call(), source{x})
		if err != nil {
			return err
		}
		switch out := out.(type) {
		case operation.Question:
			return x.pass(out)
		case operation.Download:
			defer out.Close()
			return x.download(out.Content)
		case operation.Export:
			return x.export(out)
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
		Visitor: x.v, Rooms: x.g.rooms, Scope: x.address(), Browser: browser{x}, Surface: x.surface, ID: x.id, Head: x.r.Method == http.MethodHead,
		Enter: x.enterOther, Transfer: x.transfer, Ask: x.ask,
	}
}

// enterOther lets the same person into a workspace that the path does not name, as username/business; empty is the one that every
// person has.
func (x *exchange) enterOther(need access.Need, workspace string) (context.Context, *access.Visitor, error) {
	username, business, _ := strings.Cut(cmp.Or(workspace, x.who.Account.Username+"/"+scope.Personal), "/")
	err := x.enter(need, access.Place{Scope: scope.Of(username, business).String()})
	return x.ctx(), x.v, err
}

// lead sends a browser on, or shows it a page at once.
func (x *exchange) lead(status int, to operation.Onward) error {
	if to.Page != nil {
		return x.show(http.StatusOK, to.Page)
	}
	return x.see(status, withNotice(to.To, to.Notice))
}

// pass lets the runtime answer what an operation asks of it.
func (x *exchange) pass(q operation.Question) error {
	query := x.r.URL.Query()
	if q.Alone {
		query = url.Values{}
	}
	maps.Copy(query, q.Query)
	if q.Alone || q.Query != nil {
		x.r.URL.RawQuery = query.Encode()
	}
	return x.forward(errand{claims: x.v.Claims(x.id), path: q.Path, header: allowed(x.r.Header)})
}

// tellOutcome answers with what an operation came to.
func (x *exchange) tellOutcome(a operation.Answer) error {
	h := x.out.Header()
	if a.Tag != "" {
		h.Set("ETag", a.Tag)
	}
	switch {
	case strings.Contains(a.At, "://"):
		h.Set("Location", a.At)
	case a.At != "":
		h.Set("Location", path.Join(x.r.URL.EscapedPath(), a.At))
	}
	switch {
	case a.Body == nil:
		return x.none()
	case a.List:
		return x.list(a.Body)
	}
	return x.json(a.Status, a.Body)
}

// source is the request of an exchange as operations see it.
type source struct{ x *exchange }

func (s source) Param(name string) string     { return s.x.params[name] }
func (s source) Query(name string) string     { return s.x.r.URL.Query().Get(name) }
func (s source) Page() (listing.Query, error) { return s.x.query() }
func (s source) Match() (int64, error)        { return s.x.ifMatch() }

func (s source) Body(into any, count func(context.Context) error) error {
	return s.x.decode(into, count)
}

func (s source) Delivery() (operation.Delivery, error) {
	body, release, err := s.x.delivery()
	if err != nil {
		release()
	}
	return operation.Delivery{Header: s.x.r.Header, Body: body, Release: release}, err
}

func (s source) Condition() project.Condition {
	h := s.x.r.Header
	return project.Condition{Match: strings.Join(h.Values("If-Match"), ", "), NoneMatch: strings.Join(h.Values("If-None-Match"), ", ")}
}

// Upload is the body of a file, whatever its type and however long it takes, as long as it comes.
func (s source) Upload() (u project.Upload, err error) {
	if len(s.x.r.Header.Values("Content-Encoding")) > 0 {
		return u, fault.New(unsupportedContent, "A file is kept as it is sent.", "Send it without Content-Encoding.")
	}
	if len(s.x.r.Header.Values("Content-Range")) > 0 {
		return u, fault.New(invalidHeader, "A file is sent as a whole.", "Send it without Content-Range.")
	}
	return project.Upload{Body: s.x.upload(), Size: s.x.r.ContentLength, Condition: s.Condition()}, nil
}
