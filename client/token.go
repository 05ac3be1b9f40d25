package client

import (
	"context"
)

// bearer keeps the token that requests are sent with. One asks for a new one at a time; the others wait for what it gets.
type bearer struct {
	ask   func(ctx context.Context) (string, error) // nil: the token never changes
	turn  chan struct{}                             // has one value while nobody looks
	token string
	known bool
}

func newTokens(c Config) bearer {
	t := bearer{ask: c.TokenFunc, turn: make(chan struct{}, 1), token: c.Token, known: c.TokenFunc == nil}
	t.turn <- struct{}{}
	return t
}

// get is the token to send, empty for none.
func (t *bearer) get(ctx context.Context) (string, *Error) {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return "", failed(ctx, ctx.Err())
	}
	defer func() { t.turn <- struct{}{} }()
	if t.known {
		return t.token, nil
	}
	token, err := t.ask(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", failed(ctx, ctx.Err())
		}
		return "", &Error{Type: TokenUnavailable, Message: "There is no token to send.", Cause: err}
	}
	t.token, t.known = token, true
	return token, nil
}

// refused asks for another token than this one, and reports whether there is one.
func (t *bearer) refused(ctx context.Context, token string) (bool, *Error) {
	if t.ask == nil {
		return false, nil
	}
	select {
	case <-t.turn:
	case <-ctx.Done():
		return false, failed(ctx, ctx.Err())
	}
	if t.token == token { // else somebody has asked meanwhile
		t.known = false
	}
	t.turn <- struct{}{}
	another, err := t.get(ctx)
	return err == nil && another != token, err
}
