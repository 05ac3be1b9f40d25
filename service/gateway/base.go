package gateway

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// insufficientScope is the refusal of a key that was not made for this.
const insufficientScope = "insufficient_scope"

// base answers below {base_url}, /v1/{username}/{business}: the contract's API, for who may.
func (x *exchange) base() error {
	x.expose()
	if x.r.Method == http.MethodOptions {
		return x.preflight()
	}
	at, err := parseBase(sentPath(x.r.URL))
	if err != nil {
		return err
	}
	x.at, x.route = at, "/v1/{username}/{business}/"+at.pattern
	if at.channel != "" {
		return x.channel(at)
	}
	return x.asMember(at)
}

// place is what a path below {base_url} means.
type place struct {
	scope   string
	pattern string // for metrics
	path    string // as the runtime knows it, escaped
	channel string // name of the channel; empty: it is none
	right   workspace.Right
	scopes  string // the key scope that it needs
	unsafe  workspace.Right
	writes  string // the key scope of unsafe methods
}

// shapes are the paths below {base_url}. A name is itself, an id may be escaped.
var shapes = []struct {
	pattern string
	right   workspace.Right
	scope   string
	unsafe  workspace.Right
	writes  string
}{
	{"agents/{name}/{id}", workspace.Read, "agents:read", workspace.Work, "agents:write"},
	{"agents/{name}/{id}/abort", workspace.Read, "agents:read", workspace.Work, "agents:write"},
	{"agents/{name}/{id}/submissions", workspace.Read, "agents:read", workspace.Work, "agents:write"},
	{"agents/{name}/{id}/attachments/{id}", workspace.Read, "agents:read", workspace.Work, "agents:write"},
	{"workflows/{name}", workspace.Read, "runs:read", workspace.Work, "workflows:run"},
	{"runs/{name}", workspace.Read, "runs:read", workspace.Work, "workflows:run"},
	{"runs", workspace.Read, "runs:read", workspace.Work, "workflows:run"},
}

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
	if len(segments) == 0 || at.scope == "" {
		return at, noPath(path)
	}
	if segments[0] == channels {
		return at.asChannel(segments[1:])
	}
	for _, shape := range shapes {
		if built, ok, err := fit(strings.Split(shape.pattern, "/"), segments); ok || err != nil {
			at.pattern, at.path = shape.pattern, built
			at.right, at.scopes, at.unsafe, at.writes = shape.right, shape.scope, shape.unsafe, shape.writes
			return at, err
		}
	}
	return at, noPath(path)
}

// notThere is the answer for a scope that cannot be: that of a workspace which is not there, unless the path is no path.
func notThere(segments []string, path string) error {
	switch {
	case len(segments) > 0 && segments[0] == channels:
		return noChannel()
	case strings.ContainsAny(path, "%;") && len(segments) > 0:
		return errPath()
	}
	return noWorkspace()
}

// channels is the segment below which webhooks come.
const channels = "channels"

// noChannel is the one answer for a webhook that nobody waits for, whatever of it is not there: the workspace, its account,
// the channel, the path below it, or the method. Strangers learn nothing by asking.
func noChannel() error { return fault.New(fault.RouteNotFound, "No such channel.", "") }

func noWorkspace() error { return fault.New(workspaceNotFound, "There is no such workspace.", "") }

func noPath(path string) error {
	return fault.New(fault.RouteNotFound, "No route for "+path+".", "Check method and path.")
}

// fit compares segments with a shape and builds the path of the runtime from what was checked.
func fit(shape, segments []string) (built string, ok bool, err error) {
	if len(shape) != len(segments) {
		return "", false, nil
	}
	for i, want := range shape {
		part := segments[i]
		switch want {
		case "{id}":
			if part, err = id(part); err != nil {
				return "", false, err
			}
		case "{name}":
			if strings.ContainsAny(part, "%;") {
				return "", false, errPath()
			}
		default:
			if strings.ContainsAny(part, "%;") {
				return "", false, errPath()
			}
			if want != part {
				return "", false, nil
			}
		}
		built += "/" + part
	}
	return built, true, nil
}

// maxID is the longest id, decoded, in bytes.
const maxID = 255

// id is a segment that may be escaped, decoded once and escaped by us.
func id(segment string) (string, error) {
	text, err := decoded(segment)
	return url.PathEscape(text), err
}

// decoded is a segment that may be escaped, decoded once.
func decoded(segment string) (string, error) {
	text, err := url.PathUnescape(segment)
	if err != nil || text == "" || len(text) > maxID || !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }) {
		return "", errPath()
	}
	return text, nil
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

// asMember lets somebody in who is signed in or brings a key, and may do what is asked.
func (x *exchange) asMember(at place) error {
	right, need := at.right, at.scopes
	if !safe(x.r.Method) {
		right, need = at.unsafe, at.writes
	}
	who, err := x.authorize(at.scope, right, need)
	if err != nil {
		return err
	}
	if err := x.note(at.scope, at.path); err != nil {
		return err
	}
	e := errand{claims: who.claims(x.id, at.scope), path: at.path, header: allowed(x.r.Header), watch: who.watch}
	if at.pattern == "runs" {
		e.path = runsPath
	}
	return x.forward(e)
}

// guest is who was let into a workspace.
type guest struct {
	username  string
	owner     string // account of the workspace
	authority string
	watch     func(context.Context) bool
}

// claims are what the runtime is told.
func (p guest) claims(request, address string) scope.Claims {
	c := scope.Claims{AccountID: p.owner, Scope: address, Actor: p.username, Authority: p.authority, RequestID: request, Account: p.username}
	if at, err := scope.Parse(address); err == nil {
		c.Account = at.Username
	}
	c.Delegated = c.Actor != c.Account
	return c
}

// authorize finds who asks and whether they may, from the database, now. What they tried to slip in is told of them.
func (x *exchange) authorize(address string, right workspace.Right, keyScope string) (guest, error) {
	who, err := x.judged(address, right, keyScope)
	if err == nil && x.spoofed {
		x.g.Audit.Refused(x.ctx(), audit.Event{Action: "access.spoofed_header", Scope: address})
	}
	return who, err
}

// judged lets in who may. A key goes before a cookie.
func (x *exchange) judged(address string, right workspace.Right, keyScope string) (guest, error) {
	keyed := len(x.r.Header.Values("Authorization")) > 0 && x.view == nil
	switch {
	case x.surface == Admin && keyed && address == scope.Admin && strings.HasPrefix(x.r.URL.Path, "/v1/"):
		return x.authorizeOwnKey(right, keyScope)
	case x.surface == Admin:
		return x.authorizeStaff(address, right)
	case address == scope.Admin:
		return guest{}, noWorkspace()
	case keyed:
		return x.authorizeKey(address, right, keyScope)
	}
	if err := x.checkFrom(); err != nil {
		return guest{}, err
	}
	who, err := x.session()
	if err != nil {
		return guest{}, err
	}
	if who == nil {
		return guest{}, unauthenticated()
	}
	if err := x.g.rates.take("account:" + x.self().Account.ID); err != nil {
		return guest{}, err
	}
	m, err := x.seat(x.member(who.Account.ID, address), right)
	if err != nil {
		return guest{}, err
	}
	return guest{username: who.Account.Username, owner: m.Owner, authority: scope.Customer, watch: x.watchSession(address, right)}, nil
}

// standing finds the place that somebody has in a workspace, now.
type standing func(context.Context) (m workspace.Membership, found bool, err error)

// member is the place of a person.
func (x *exchange) member(account, address string) standing {
	accounts := x.g.Accounts
	return func(ctx context.Context) (workspace.Membership, bool, error) {
		return accounts.Membership(ctx, account, address)
	}
}

// holder is the place of who brings a key: its maker's, or that of an administrator if the maker is of the staff.
func (x *exchange) holder(b account.Bearer, address string) standing {
	if !b.Key.Staff {
		return x.member(b.Account.ID, address)
	}
	accounts := x.g.Accounts
	return func(ctx context.Context) (workspace.Membership, bool, error) {
		w, found, err := accounts.WorkspaceAt(ctx, address)
		return workspace.Membership{Workspace: w, Role: workspace.Admin}, found, err
	}
}

// seat is a place in a workspace, if it gives the right. A stranger and a workspace that is not there get one answer.
func (x *exchange) seat(find standing, right workspace.Right) (workspace.Membership, error) {
	m, found, err := find(x.ctx())
	switch {
	case err != nil:
		return m, err
	case !found:
		return m, noWorkspace()
	case m.Suspended:
		return m, fault.New("workspace_suspended", "This workspace is suspended.", "Ask the people who run this service.")
	case !workspace.Allows(m.Role, right):
		return m, fault.New(forbidden, "Your role does not allow this.", "").With("role", workspace.Least(right))
	}
	return m, nil
}

// watchSession tells whether a session, and its person's role, still count.
func (x *exchange) watchSession(address string, right workspace.Right) func(context.Context) bool {
	if x.view != nil {
		return x.watchView(address, right)
	}
	token, accounts := x.token, x.g.Accounts
	return func(ctx context.Context) bool {
		who, found, err := accounts.Who(ctx, token)
		if err != nil {
			return true
		}
		if !found {
			return false
		}
		m, found, err := accounts.Membership(ctx, who.Account.ID, address)
		return err != nil || found && !m.Suspended && workspace.Allows(m.Role, right)
	}
}

// keyFor is a key that was made for this workspace and this.
func (x *exchange) keyFor(address, need string) (account.Bearer, error) {
	b, err := x.bearer()
	if err != nil {
		return b, err
	}
	if err := x.g.rates.take("key:" + b.Key.ID); err != nil {
		return b, err
	}
	if b.Key.Scope != address {
		return b, noWorkspace()
	}
	if need == "" || !workspace.KeyAllows(b.Key.Scopes, need) {
		return b, fault.New(insufficientScope, "The API key was not made for this.", "").With("required", need)
	}
	return b, nil
}

// authorizeKey lets a key in that was made for this workspace and this, within the present role of its maker.
func (x *exchange) authorizeKey(address string, right workspace.Right, need string) (guest, error) {
	b, err := x.keyFor(address, need)
	if err != nil {
		return guest{}, err
	}
	place := x.holder(b, address)
	m, err := x.seat(place, right)
	if err != nil {
		return guest{}, err
	}
	if !workspace.RoleAllowsKeyScope(m.Role, need) {
		return guest{}, fault.New(forbidden, "The role of the key's maker does not allow this.", "").With("role", workspace.Least(right))
	}
	alive := x.watchKey()
	watch := func(ctx context.Context) bool {
		if !alive(ctx) {
			return false
		}
		m, found, err := place(ctx)
		return err != nil || found && !m.Suspended && workspace.RoleAllowsKeyScope(m.Role, need)
	}
	return guest{username: b.Account.Username, owner: m.Owner, authority: scope.Customer, watch: watch}, nil
}

// watchKey tells whether the key of the request still counts.
func (x *exchange) watchKey() func(context.Context) bool {
	value, accounts := bearer(x.r.Header.Get("Authorization")), x.g.Accounts
	return func(ctx context.Context) bool {
		_, err := accounts.Bearer(ctx, value)
		return err == nil || !fault.Is(err, account.InvalidAPIKey)
	}
}

// bearer is who brings a key. Those who try keys are slowed down.
func (x *exchange) bearer() (account.Bearer, error) {
	given := x.r.Header.Values("Authorization")
	if len(given) > 1 {
		return account.Bearer{}, fault.New(invalidHeader, "Authorization stands there twice.", "")
	}
	if wait := x.g.wrongKeys.wait(x.source()); wait > 0 {
		return account.Bearer{}, tooMany("wrong_keys", wait)
	}
	b, err := x.g.Accounts.Bearer(x.ctx(), bearer(given[0]))
	if fault.Is(err, account.InvalidAPIKey) {
		x.g.wrongKeys.count(x.source())
	}
	if err == nil {
		x.acting(&account.Who{Account: b.Account})
	}
	return b, err
}

// channel lets a webhook through to its workspace: the channel's own check of the signature is the authentication. What is
// refused before it is refused alike for a workspace that is there and one that is not.
func (x *exchange) channel(at place) error {
	if at.scope == scope.Admin || x.surface != Agents {
		return noChannel()
	}
	if err := x.g.hooks.take(at.scope); err != nil {
		return err
	}
	most := x.g.ChannelBody
	if at.channel == "github" {
		most = max(most, maxDelivery)
	}
	if x.r.ContentLength > most {
		return fault.New(fault.BodyTooLarge, "The body is too large.", "").With("limit", most)
	}
	release, err := x.slot()
	defer release()
	if err != nil {
		return err
	}
	owner, found, err := x.g.Accounts.OwnerOf(x.ctx(), at.scope)
	if err != nil {
		return err
	}
	if !found {
		return noChannel()
	}
	x.count(x.stranger())
	x.r.Body = http.MaxBytesReader(nil, x.r.Body, most)
	parsed, _ := scope.Parse(at.scope) // it was parsed before
	return x.forward(errand{
		claims: scope.Claims{
			Account: parsed.Username, AccountID: owner, Scope: at.scope, Actor: scope.Channel(at.channel), Authority: scope.Customer,
			Delegated: true, RequestID: x.id,
		},
		path: at.path, header: allowedHook(x.r.Header), hook: true,
	})
}

// streamHeaders are what scripts may read of an answer.
const streamHeaders = "Stream-Next-Offset, Stream-Up-To-Date, Stream-Closed, Stream-Cursor, ETag, Retry-After, X-Request-Id, Idempotency-Replayed, Location"

// expose lets the pages that may read answers below {base_url}.
func (x *exchange) expose() {
	x.share()
	if x.out.Header().Get("Access-Control-Allow-Origin") != "" {
		x.out.Header().Set("Access-Control-Expose-Headers", streamHeaders)
	}
}

// preflight answers a browser that asks before it sends. Only pages that may read the answer hear that they may.
func (x *exchange) preflight() error {
	if !slices.Contains(x.readers(), x.r.Header.Get("Origin")) {
		return errCrossOrigin()
	}
	h := x.out.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Authorization")
	h.Set("Access-Control-Max-Age", "600")
	return x.none()
}
