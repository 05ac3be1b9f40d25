package gateway

import (
	"cmp"
	"net/http"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/site"
	"svc.dev/svc/service/surface"
)

// routes are all there is.
var routes = append(operations(), pages()...)

// pages are the routes of those who use the product without scripts.
func pages() []route {
	asset := operation.Row{On: operation.EverySurface, Method: "GET", Path: "/assets/{file}", Need: access.Public}
	all := []route{{asset, serveAsset}}
	for _, r := range site.Rows() {
		all = append(all, route{operation.Row{On: r.On, Method: r.Method, Path: r.Path, Need: r.Need}, visits(r)})
	}
	return all
}

// visits serves a row of the site.
func visits(r site.Row) func(*exchange) error {
	return func(x *exchange) (err error) {
		v := &site.Visit{Call: x.call(), Query: x.Request.URL.Query(), Params: x.params, MailOff: x.g.MailOff, Application: x.g.Application.Built()}
		if r.Method == http.MethodPost {
			if v.Body, err = x.body(surface.TypeForm); err != nil {
				return err
			}
			x.form = v.Body
		}
		next, err := r.Do(x.Ctx(), v)
		switch {
		case err != nil:
			return x.again(err, r, v)
		case next.Application:
			return serveApplication(x)
		case next.Page != nil:
			return x.show(cmp.Or(next.Status, http.StatusOK), next.Page)
		}
		return x.See(x.Onward(), surface.WithNotice(next.To, string(next.Notice)))
	}
}
