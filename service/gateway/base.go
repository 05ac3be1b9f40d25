package gateway

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/surface"
)

// base answers below {base_url}, /v1/{username}/{business}: the contract's API, for those who may.
func (x *exchange) base() error {
	x.Expose()
	if x.Request.Method == http.MethodOptions && x.Request.Header.Get("Origin") != "" {
		return x.Preflight()
	}
	at, err := parseBase(x.SentPath())
	if err == nil && at.entrypoint && x.g.NoEntrypoint {
		err = noPath(x.SentPath())
	}
	if err != nil {
		return err
	}
	x.at, x.route = at, "/v1/{username}/{business}/"+at.pattern
	switch {
	case at.channel != "":
		return x.channel(at)
	case at.entrypoint:
		return askEntrypoint(x, at)
	}
	return x.asMember(at)
}

// place is what a path below {base_url} means.
type place struct {
	scope   string
	pattern string // for metrics
	path    string // as the runtime knows it, escaped
	channel string // name of the channel; empty: it is none
	reads   access.Need
	writes  access.Need // of unsafe methods

	entrypoint bool // no path of the API: the project's own
}

// shape is a path below {base_url}, and what its methods need.
type shape struct {
	pattern       string
	reads, writes access.Need
}

// shapes are those of the operations that the runtime answers. Whoever may do what a noun has a method for may ask for one that it has
// not, and is told so there.
var shapes = func() (all []shape) {
	needs := map[string]access.Need{}
	for _, r := range operation.Passed() {
		needs[r.Noun+" "+r.Method] = r.Need
	}
	for _, r := range operation.Passed() {
		pattern, is := strings.CutPrefix(r.Path, operation.Base+"/")
		known := slices.ContainsFunc(all, func(s shape) bool { return s.pattern == pattern })
		if is && !known && !r.Need.IsPublic() {
			writes := needs[r.Noun+" POST"]
			all = append(all, shape{pattern, cmp.Or(needs[r.Noun+" GET"], writes), writes})
		}
	}
	return all
}()

// parseBase reads /v1/{username}/{business}/…, or /v1/admin/… for the staff's own workspace.
func parseBase(path string) (place, error) {
	segments := strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
	var at place
	if segments[0] == scope.Admin {
		at.scope, segments = scope.Admin, segments[1:]
	} else if len(segments) > 1 {
		at.scope, segments = scope.Of(segments[0], segments[1]).String(), segments[2:]
		if _, err := scope.Parse(at.scope); err != nil {
			return at, notThere(segments, path)
		}
	}
	if at.scope == "" {
		return at, noPath(path)
	}
	if len(segments) > 0 && segments[0] == channels {
		return at.asChannel(segments[1:])
	}
	for _, shape := range shapes {
		if built, ok, err := fit(strings.Split(shape.pattern, "/"), segments); ok || err != nil {
			at.pattern, at.path, at.reads, at.writes = shape.pattern, built, shape.reads, shape.writes
			return at, err
		}
	}
	return at.asEntrypoint(segments)
}

// notThere is the answer for a scope that cannot be: that of a workspace which is not there, unless the path is no path.
func notThere(segments []string, path string) error {
	switch {
	case len(segments) > 0 && segments[0] == channels:
		return noChannel()
	case strings.ContainsAny(path, "%;") && len(segments) > 0:
		return surface.WrongPath()
	}
	return access.NoWorkspace()
}

// channels is the segment below which webhooks come.
const channels = "channels"

// noChannel is the one answer for a webhook that nobody waits for, whatever of it is not there: the workspace, its account,
// the channel, the path below it, or the method. Strangers learn nothing by asking.
func noChannel() error { return fault.New(fault.RouteNotFound, "No such channel.", "") }

func noPath(path string) error {
	return fault.New(fault.RouteNotFound, "No route for "+path+".", "Check method and path.")
}

// fit compares segments with a shape, where a name is itself and an id may be escaped, and builds the path of the runtime from what was checked.
func fit(shape, segments []string) (built string, ok bool, err error) {
	if len(shape) != len(segments) {
		return "", false, nil
	}
	for i, want := range shape {
		part := segments[i]
		name := want == "{name}" || want == "{run}"
		switch {
		case want[0] == '{' && !name:
			if part, err = id(part); err != nil {
				return "", false, err
			}
		case strings.ContainsAny(part, "%;"):
			return "", false, surface.WrongPath()
		case !name && want != part:
			return "", false, nil
		}
		built += "/" + part
	}
	return built, true, nil
}

// id is a segment that may be escaped, decoded once and escaped by us.
func id(segment string) (string, error) {
	text, err := surface.Decoded(segment)
	return url.PathEscape(text), err
}

func (at place) asChannel(segments []string) (place, error) {
	if len(segments) < 2 || strings.ContainsAny(segments[0], "%;") {
		return at, noChannel()
	}
	at.channel, at.pattern, at.path = segments[0], "channels/{name}/…", "/channels/"+segments[0]
	for _, segment := range segments[1:] {
		part, err := id(segment)
		if err != nil {
			return at, err
		}
		at.path += "/" + part
	}
	return at, nil
}

// isMCP reports whether MCP clients are answered there.
func (at place) isMCP() bool { return at.path == engine.MCPPath }

// checkMCP refuses an MCP client as its protocol wants it: a page of strangers whatever it brings, and before that somebody who brings
// nothing at all, so that the client asks for a key.
func checkMCP(x *exchange) error {
	if len(x.Request.Header.Values("Authorization")) == 0 {
		if session, err := x.SessionValue(); err == nil && session == "" {
			return access.Unauthenticated()
		}
	}
	return x.CheckReader()
}

// asMember lets somebody in who is signed in or brings a key, and may do what is asked.
func (x *exchange) asMember(at place) error {
	need := at.reads
	if !x.Safe() {
		need = at.writes
	}
	if at.isMCP() {
		if err := checkMCP(x); err != nil {
			return err
		}
	}
	if err := x.enter(need, access.Place{Scope: at.scope}); err != nil {
		return err
	}
	lists := at.pattern == "runs"
	if method := x.Request.Method; lists && method != http.MethodGet && method != http.MethodHead {
		return x.wrongMethod([]string{http.MethodGet})
	}
	if err := x.note(at.scope, at.path); err != nil {
		return err
	}
	e := errand{claims: x.v.Claims(x.ID), path: at.path, header: allowed(x.Request.Header), lasts: at.isMCP(), root: at.path}
	if lists {
		e.path = engine.RunsPath
	}
	return x.forward(e)
}

// channel lets a webhook through to its workspace: the channel's own check of the signature is the authentication. What is
// refused before it is refused alike for a workspace that is there and one that is not.
func (x *exchange) channel(at place) error {
	if at.scope == scope.Admin || x.Surface != Agents {
		return noChannel()
	}
	if err := x.g.hooks.Take(at.scope); err != nil {
		return err
	}
	most := x.g.ChannelBody
	if at.channel == "github" {
		most = max(most, maxDelivery)
	}
	if x.Request.ContentLength > most {
		return surface.TooLarge(most)
	}
	release, err := x.slot()
	defer release()
	if err != nil {
		return err
	}
	owner, found, err := x.g.Accounts.OwnerOf(x.Ctx(), at.scope)
	if err != nil {
		return err
	}
	if !found {
		return noChannel()
	}
	x.Count(x.Stranger())
	x.Request.Body = http.MaxBytesReader(nil, x.Request.Body, most)
	parsed, _ := scope.Parse(at.scope) // it was parsed before
	return x.forward(errand{
		claims: scope.Claims{
			Account: parsed.Username, AccountID: owner, Scope: at.scope, Actor: scope.Channel(at.channel), Authority: scope.Customer,
			Delegated: true, RequestID: x.ID,
		},
		path: at.path, header: allowedHook(x.Request.Header), hook: true,
	})
}
