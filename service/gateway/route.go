package gateway

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/surface"
)

// route is one method of one path, and what is said of it: of a page only where it is and what it needs. A segment in braces is a
// parameter; with dots in them it is all that follows, a path of segments that may be escaped.
type route struct {
	operation.Row
	do func(*exchange) error
}

// line is a route as paths are compared with it.
type line struct {
	route
	segments []string
}

// table cuts the routes by surface.
func table() map[Surface][]line {
	table := map[Surface][]line{}
	for _, r := range routes {
		for _, surface := range r.On {
			table[surface] = append(table[surface], line{r, strings.Split(r.Path, "/")})
		}
	}
	return table
}

// dispatch finds the route, in the order of checks that the contract fixes: method, origin, who, and then the body.
func (x *exchange) dispatch() error {
	found, allowed := x.find(x.Path())
	switch {
	case found == nil && len(allowed) > 0:
		return x.wrongMethod(allowed)
	case found == nil:
		return noRoute(x.Request)
	}
	x.route = found.Path
	return x.run(found)
}

// find matches a path, and the method or else which methods there are.
func (x *exchange) find(path string) (found *line, allowed []string) {
	segments := strings.Split(path, "/")
	for i, r := range x.g.routes[x.Surface] {
		params, ok := r.match(segments)
		if !ok {
			continue
		}
		allowed = append(allowed, r.Method)
		if r.Method == x.Request.Method || r.Method == http.MethodGet && x.Request.Method == http.MethodHead {
			x.params = params
			return &x.g.routes[x.Surface][i], nil
		}
	}
	return nil, allowed
}

func (r *line) match(segments []string) (params map[string]string, ok bool) {
	tail, hasTail := r.tail()
	if len(segments) < len(r.segments) || len(segments) > len(r.segments) && !hasTail {
		return nil, false
	}
	for i, want := range r.segments {
		if hasTail && i == len(r.segments)-1 {
			if params == nil {
				params = map[string]string{}
			}
			params[tail], ok = joined(segments[i:])
			return params, ok
		}
		if name, wild := strings.CutPrefix(want, "{"); wild {
			if segments[i] == "" || want == "{username}" && segments[i] == scope.Admin {
				return nil, false // nobody is called like the workspace of the staff
			}
			if params == nil {
				params = map[string]string{}
			}
			params[strings.TrimSuffix(name, "}")] = segments[i]
		} else if want != segments[i] {
			return nil, false
		}
	}
	return params, true
}

// above is the nearest page above one that takes a form alone.
func (x *exchange) above() string {
	for at := x.Request.URL.Path; at != "/"; {
		at = path.Dir(at)
		if found, _ := x.find(at); found != nil {
			return at
		}
	}
	return "/"
}

func (x *exchange) wrongMethod(allowed []string) error {
	// A refused form leaves the browser where it was sent. Whoever goes there again, by hand or after a restart, wants its page.
	if x.Navigation() && surface.IsPage(x.Request.URL.Path) {
		return x.See(http.StatusFound, x.above())
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	list := strings.Join(slices.Compact(allowed), ", ")
	x.Out.Header().Set("Allow", list)
	return fault.New(fault.MethodNotAllowed, x.Request.Method+" is not allowed here.", "Allowed: "+list+".")
}

func (x *exchange) run(r *line) error {
	if r.Shared {
		x.Share()
	}
	if err := x.checkPublic(r); err != nil {
		return err
	}
	if err := x.enter(r.Need, x.place()); err != nil {
		return err
	}
	if _, is := r.Need.Inside(); is && x.Surface == Admin && (r.Told || x.Safe()) {
		if err := x.note(x.address(), x.below()); err != nil {
			return err
		}
	}
	return x.act(r)
}

// checkPublic judges where a request comes from that needs nobody to be signed in.
func (x *exchange) checkPublic(r *line) error {
	switch {
	case !r.Need.IsPublic():
		return nil // entering judges it
	case !x.Safe() && !r.AnyOrigin:
		return x.CheckOrigin()
	case x.Safe() && !surface.IsPage(x.Request.URL.Path):
		return x.CheckRead()
	}
	return nil
}
