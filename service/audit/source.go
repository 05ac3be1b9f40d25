package audit

import "context"

// The kinds of actors.
const (
	Account   = "account"
	Key       = "key"
	System    = "system"
	Operator  = "operator"
	Anonymous = "anonymous"
	Channel   = "channel"
)

// Actor is one who acts or is acted upon. The zero Actor is nobody.
type Actor struct {
	Kind     string
	ID       string
	Username string
}

// Source is where an act comes from: what all events of a request have in common.
type Source struct {
	RequestID    string
	IP           string
	UserAgent    string
	Surface      string
	Authority    string
	Actor        Actor
	Impersonator *Actor // who acts as Actor, if not Actor
}

type sourceKey struct{}

// With gives a context whose events come from s.
func With(ctx context.Context, s Source) context.Context {
	return context.WithValue(ctx, sourceKey{}, s)
}

// From is the source of the context's events, and the zero Source where With was not called.
func From(ctx context.Context) Source {
	s, _ := ctx.Value(sourceKey{}).(Source)
	return s
}
