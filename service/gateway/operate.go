package gateway

import (
	"path"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/operation"
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
		all = append(all, route{r.On, r.Method, r.Path, r.Need, operates(r), traits})
	}
	return all
}

// operates serves a row.
func operates(r operation.Row) func(*exchange) error {
	return func(x *exchange) error {
		x.most = r.Most
		out, err := r.Do(x.ctx(), operation.Call{Visitor: x.v, Rooms: x.g.rooms, Scope: x.address(), SignOut: x.clearSession}, source{x})
		if err != nil {
			return err
		}
		return x.tellOutcome(r.Answer(out))
	}
}

// tellOutcome answers with what an operation came to.
func (x *exchange) tellOutcome(a operation.Answer) error {
	h := x.out.Header()
	if a.Tag != "" {
		h.Set("ETag", a.Tag)
	}
	if a.At != "" {
		h.Set("Location", path.Join(x.r.URL.Path, a.At))
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
func (s source) Body(into any) error          { return s.x.decode(into) }
