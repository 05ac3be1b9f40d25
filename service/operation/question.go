package operation

import (
	"context"
	"net/url"
	"reflect"

	"svc.dev/svc/internal/listing"

	"svc.dev/svc/service/access"
)

// Question is what an operation asks the runtime, whose answer is passed on as it is.
type Question struct {
	Path string // escaped
	// Query goes before what the request asks; Alone: it is all that is asked.
	Query url.Values
	Alone bool
}

// asks is an operation that the runtime answers, with what Out describes.
func asks[Out, In any](method, path string, k kind, need access.Need, do does[In, Question]) Row {
	r := row(method, path, k, need, do)
	r.out = reflect.TypeFor[Out]()
	r.Told, r.asked = true, true
	return r
}

// Asks reports whether the runtime answers.
func (r Row) Asks() bool { return r.asked }

// relays is a list that the runtime has at a path of its own. In is what a request says of it.
func relays[In, Item any](id, path string, need access.Need, at string) Row {
	r := asks[listing.Page[Item]]("GET", path, lists, need, func(context.Context, Call, In) (Question, error) { return Question{Path: at}, nil })
	r.ID = id
	return r
}

// tells is an operation that tells by itself what it does.
func (r Row) tells() Row {
	r.Told = false
	return r
}

// forwards is an operation whose body goes on as it is, with its Idempotency-Key.
func (r Row) forwards() Row {
	r.passed, r.Apart = true, true
	return r
}
