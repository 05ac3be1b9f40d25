// Package operation is what can be asked of the product: a row for every route, and a typed function that does it. A row says all
// there is to say about an operation; the gateway serves it, and its description, checks and tests follow from it.
package operation

import (
	"context"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/app"
	"svc.dev/svc/service/audit"
	pairing "svc.dev/svc/service/device"
	"svc.dev/svc/service/installation"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/repository"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/vault"
	"svc.dev/svc/service/workspace"
)

// W is where a workspace is, and Own where that of the staff is.
const (
	W   = "/api/workspaces/{username}/{business}"
	Own = "/api/workspaces/admin"
)

// Rooms are what operations act on.
type Rooms struct {
	Accounts      *account.Accounts
	Keys          *apikey.Keys
	Devices       *pairing.Devices
	Apps          *app.Apps
	Manifests     *app.Manifests
	Installations *installation.Installations
	Workspaces    *workspace.Workspaces
	Quotas        *storage.Quotas
	Projects      *project.Projects
	Repositories  *repository.Repositories
	Vault         *vault.Vault
	Models        *models.Models
	Agents        *agent.Agents
	MCPs          *mcp.Servers
	Audit         *audit.Log
	// Address is that of a surface, and ReturnTo checks where a browser wants to go afterwards.
	Address  func(access.Surface) string
	ReturnTo func(string) (string, error)
	// Verifying counts a verification of an account.
	Verifying func(account string) error
	// Health is how this process does. Rotate moves every secret to a new key: it says how far it came in a moment, and goes on. nil:
	// nobody can say, or could.
	Health func(context.Context) Health
	Rotate func(context.Context) (Rotation, error)
	// Fetching takes one of the few places of those who ask a provider for a workspace.
	Fetching func(scope string) (release func(), err error)
}

// Call is one request: somebody who was let in, the workspace that it is about, and the rooms.
type Call struct {
	*access.Visitor
	*Rooms
	Scope   string
	Browser Browser
	Surface access.Surface
	ID      string // of the request
	Head    bool   // only the head of the answer is wanted
	// Enter lets the same person into a workspace that the path does not name, as username/business; empty: their own.
	Enter func(need access.Need, workspace string) (context.Context, *access.Visitor, error)
	// Transfer takes one of the places of those who send and get files.
	Transfer func() (release func(), err error)
	// Ask puts a question to the runtime that only we hear the answer of.
	Ask func(ctx context.Context, q Question, into any) error
}

// isStaff reports whether they act by the authority of the service.
func (c Call) isStaff() bool { return c.Staff != "" }

// Row is an operation.
type Row struct {
	On     []access.Surface
	Method string
	Path   string
	Need   access.Need
	// ID is the name of its function, and Noun what it is about.
	ID, Noun string
	// Says is one sentence, and Faults are the types of its refusals beside those that follow from the rest.
	Says   string
	Faults []string
	// Told: the framework tells the workspace what staff change by it, for the room does not.
	Told bool
	// Apart: an Idempotency-Key is for the runtime, or means nothing.
	Apart bool
	// Shared: pages of the other surfaces may read the answer; AnyOrigin: a page of anybody may ask, for the credential is in the request.
	Shared, AnyOrigin bool
	// Secret: the answer holds a secret, which is shown once.
	Secret bool
	// Most is how long its body may be; zero: as long as most are.
	Most int

	placed  bool                              // it says itself where it is
	headers map[string]string                 // what its answers have beside the usual
	limit   func(context.Context, Call) error // counts a request whose body has come; nil: nothing does
	onward  []int                             // the statuses by which it leads a browser on; with 200 it is a page
	others  map[int]reflect.Type              // what it answers with, by the status, where it has several
	asked   bool                              // the runtime answers
	passed  bool                              // its body goes on as it is
	keyed   bool                              // the runtime does it once for an Idempotency-Key
	news    reflect.Type                      // what it answers with to whoever follows it
	kind    kind
	in, out reflect.Type
	do      func(context.Context, Call, Source, limit) (any, error)
}

// limit counts a request before its body is looked at.
type limit func(context.Context) error

// kind is what becomes of an outcome.
type kind int

const (
	shows    kind = iota // 200
	lists                // 200, with an etag of all of it
	creates              // 201, with where it is
	replaces             // 201, with where it is, beside what it is a verb of
	keeps                // 201 for what was not there, or 200
	begins               // 202, for what goes on
	drops                // 204
)

// does is a function that takes what a request says and gives what is answered.
type does[In, Out any] func(context.Context, Call, In) (Out, error)

func row[In, Out any](method, path string, k kind, need access.Need, do does[In, Out]) Row {
	return Row{
		On: surfacesOf(method, path), Method: method, Path: path, Need: need, ID: nameOf(do), Noun: "workspace", kind: k,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		do: func(ctx context.Context, c Call, from Source, count limit) (any, error) {
			var in In
			if err := read(from, reflect.ValueOf(&in).Elem(), count); err != nil {
				return nil, err
			}
			return do(ctx, c, in)
		},
	}
}

// configuration are the nouns of a workspace that Platform has too.
var configuration = []string{"keys", "connectors", "mcps", "models", "secrets", "limits", "billing", "usage", "invoices", "storage", "observability", "failures"}

// surfacesOf are where a workspace is used: by its customers and by staff. What people configure is on Platform too, with the authority
// of customers; of the workspace itself that is reading it.
func surfacesOf(method, path string) []access.Surface {
	on := []access.Surface{access.Agents, access.Admin}
	rest, below := strings.CutPrefix(path, W)
	noun, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	if below && (slices.Contains(configuration, noun) || rest == "" && method == "GET") {
		on = append(on, access.Platform)
	}
	return on
}

// nameOf is the name of a function of this package.
func nameOf(do any) string {
	full := runtime.FuncForPC(reflect.ValueOf(do).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

func get[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("GET", path, shows, need, do)
}

func list[In, Item any](path string, need access.Need, do does[In, listing.Page[Item]]) Row {
	return row("GET", path, lists, need, do)
}

func create[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("POST", path, creates, need, do)
}

func change[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("PATCH", path, shows, need, do)
}

// verb is something that is done to an item.
func verb[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("POST", path, shows, need, do)
}

// start is a verb whose work goes on.
func start[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("POST", path, begins, need, do)
}

// act is a verb of which there is nothing to show.
func act[In any](path string, need access.Need, do func(context.Context, Call, In) error) Row {
	r := drop(path, need, do)
	r.Method = "POST"
	return r
}

// drop takes an item away.
func drop[In any](path string, need access.Need, do func(context.Context, Call, In) error) Row {
	r := row("DELETE", path, drops, need, func(ctx context.Context, c Call, in In) (struct{}, error) { return struct{}{}, do(ctx, c, in) })
	r.ID = nameOf(do)
	return r
}

func (r Row) says(sentence string, faults ...string) Row {
	r.Says, r.Faults = sentence, faults
	return r
}

func (r Row) on(surfaces ...access.Surface) Row {
	r.On, r.placed = surfaces, true
	return r
}

// about are rows about a noun, on a surface or where they say themselves.
func about(noun string, on access.Surface, rows ...Row) []Row {
	for i := range rows {
		if !rows[i].placed {
			rows[i] = rows[i].on(on)
		}
		rows[i].Noun = noun
	}
	return rows
}

// admit counts a request, as its body has come.
func (r Row) admit(limit func(context.Context, Call) error) Row {
	r.limit = limit
	return r
}

// leads is an answer that leads a browser on, or with 200 a page.
func (r Row) leads(status int) Row {
	r.onward = append(slices.Clip(r.onward), status)
	return r
}

// as is what a row is about.
func (r Row) as(noun string) Row {
	r.Noun = noun
	return r
}

// answers is one of several answers.
func (r Row) answers(status int, body any) Row {
	r.others = maps.Clone(r.others)
	if r.others == nil {
		r.others = map[int]reflect.Type{}
	}
	r.others[status] = reflect.TypeOf(body)
	return r
}

// open lets pages of the other surfaces read the answer.
func (r Row) open() Row {
	r.Shared = true
	return r
}

// anywhere lets pages of anybody ask.
func (r Row) anywhere() Row {
	r.AnyOrigin = true
	return r
}

func (r Row) told() Row {
	r.Told = true
	return r
}

func (r Row) apart() Row {
	r.Apart = true
	return r
}

func (r Row) secret() Row {
	r.Secret = true
	return r
}

func (r Row) most(bytes int) Row {
	r.Most = bytes
	return r
}

// everywhere are rows about a noun that the workspace of the staff has too, at its own path.
func everywhere(noun string, rows ...Row) (all []Row) {
	for _, r := range rows {
		r.Noun = noun
		own := r.on(access.Admin)
		own.Path, own.Noun = strings.NewReplacer(W, Own, Base, BaseOwn).Replace(r.Path), "staff"
		verb := strings.IndexFunc(r.ID, unicode.IsUpper)
		own.ID = r.ID[:verb] + "Own" + r.ID[verb:]
		all = append(all, r, own)
	}
	return all
}

// keeps reports whether what it changes is done once for all requests that come with one Idempotency-Key.
func (r Row) keeps() bool { return !r.Apart && Keeps(r.Method, r.Path) }

// HasBody reports whether it reads one as JSON.
func (r Row) HasBody() bool {
	_, has := r.in.FieldByName(bodyField)
	return has
}

// Status is by which it leads a browser on.
func (r Row) Status() int { return slices.Max(r.onward) }

// Keeps is that of a method at a path.
func Keeps(method, path string) bool {
	return method != "GET" && (strings.HasPrefix(path, "/api/workspaces") || strings.HasPrefix(path, "/api/admin"))
}

// Rows are all operations.
func Rows() []Row {
	return slices.Concat(itself, sessions, passwords, addresses, setups, found, devices, providers, impersonations, verifications, accounts, people, staff, admin, workspaces, keys, secrets, modelProviders, mcpServers, mcpReturns, projects, events, files, agents, tools, runs)
}

// pages reports whether it is a list that is read in pages here: what the runtime lists has cursors of its own.
func (r Row) pages() bool { return r.kind == lists && !r.asked }

// Do is what comes of a request.
func (r Row) Do(ctx context.Context, c Call, from Source) (any, error) {
	if r.pages() {
		from = paged{from, r.ID}
	}
	return r.do(ctx, c, from, func(ctx context.Context) error {
		if r.limit == nil {
			return nil
		}
		return r.limit(ctx, c)
	})
}
