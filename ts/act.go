package ts

import (
	"context"

	"svc.dev/svc"
)

// origin is whose an act is: what it dispatches and invokes is of that scope, and by that person or program.
type origin struct{ scope, by string }

// acting is what an act is done for: a request, a run, a call of a tool.
type acting interface {
	origin(ctx context.Context) (origin, error)
}

// calling is the act of a tool's call, or of an initializer.
type calling origin

func (c calling) origin(context.Context) (origin, error) { return origin(c), nil }

// callOf is whose a tool's call is.
func callOf(ctx context.Context, scope string) calling {
	call, ok := svc.CallOf(ctx)
	if !ok {
		return calling{scope: scope}
	}
	return calling{scope: call.Scope, by: call.By}
}
