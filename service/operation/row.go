// Package operation is what can be asked of the product: a row for every route, and a typed function that does it. A row says all
// there is to say about an operation; the gateway serves it, and its description, checks and tests follow from it.
package operation

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/workspace"
)

// W is where a workspace is, and Own where that of the staff is.
const (
	W   = "/api/workspaces/{username}/{business}"
	Own = "/api/workspaces/admin"
)

// Rooms are what operations act on.
type Rooms struct {
	Accounts   *account.Accounts
	Workspaces *workspace.Workspaces
}

// Call is one request: somebody who was let in, the workspace that it is about, and the rooms.
type Call struct {
	*access.Visitor
	*Rooms
	Scope string
}

// Row is an operation.
type Row struct {
	On     []access.Surface
	Method string
	Path   string
	Need   access.Need
	// ID is the name of its function.
	ID string
	// Says is one sentence, and Faults are the types of its refusals beside those that follow from the rest.
	Says   string
	Faults []string

	kind    kind
	in, out reflect.Type
	do      func(context.Context, Call, Source) (any, error)
}

// kind is what becomes of an outcome.
type kind int

const (
	shows   kind = iota // 200
	lists               // 200, with an etag of all of it
	creates             // 201, with where it is
	drops               // 204
)

// does is a function that takes what a request says and gives what is answered.
type does[In, Out any] func(context.Context, Call, In) (Out, error)

func row[In, Out any](method, path string, k kind, need access.Need, do does[In, Out]) Row {
	return Row{
		On: []access.Surface{access.Agents, access.Admin}, Method: method, Path: path, Need: need, ID: nameOf(do), kind: k,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		do: func(ctx context.Context, c Call, from Source) (any, error) {
			var in In
			if err := read(from, reflect.ValueOf(&in).Elem()); err != nil {
				return nil, err
			}
			return do(ctx, c, in)
		},
	}
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

func put[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("PUT", path, shows, need, do)
}

// verb is something that is done to an item.
func verb[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("POST", path, shows, need, do)
}

// take takes something away, and shows what is left.
func take[In, Out any](path string, need access.Need, do does[In, Out]) Row {
	return row("DELETE", path, shows, need, do)
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

func (r Row) onAdmin() Row {
	r.On = []access.Surface{access.Admin}
	return r
}

// Rows are all operations.
func Rows() []Row { return slices.Concat(people, staff) }

// Do is what comes of a request.
func (r Row) Do(ctx context.Context, c Call, from Source) (any, error) { return r.do(ctx, c, from) }
