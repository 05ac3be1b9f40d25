package httpapi

import (
	"net/http"
	"net/url"
	"slices"

	"svc.dev/svc"
)

// channelTimes is what the body of a webhook takes: as it was sent, and as its channel takes it apart.
const channelTimes = 3

// channel hands a request, untouched, to the handler that its channel declares for exactly this method and path. What is read
// of its body counts in the memory of the scope.
func (a *api) channel(x *response, r *http.Request, params []string) error {
	routes := a.channelRoutes(params[0], params[1])
	if len(routes) == 0 {
		return noRoute(r)
	}
	var allowed []string
	for _, route := range routes {
		if route.Method == r.Method {
			return a.answerChannel(route.Handler, x, r)
		}
		allowed = append(allowed, route.Method)
	}
	return wrongMethod(x, r, allowed...)
}

func (a *api) answerChannel(h http.Handler, x *response, r *http.Request) error {
	scope, _ := a.Scope(r) // a webhook may come without what tells whose it is
	r, done := a.rt.In(scope).Counted(r, channelTimes)
	defer done()
	return answerBy(h, x, r)
}

// channelRoutes finds what a channel declares for a path, in the order of its declaration.
func (a *api) channelRoutes(segment, suffix string) []svc.ChannelRoute {
	name, nameErr := url.PathUnescape(segment)
	path, pathErr := url.PathUnescape(suffix)
	channel := a.rt.Channel(name)
	if nameErr != nil || pathErr != nil || channel == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(channel.Routes), func(route svc.ChannelRoute) bool { return route.Path != path })
}
