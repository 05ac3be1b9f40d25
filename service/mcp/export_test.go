package mcp

import (
	"context"
	"fmt"

	client "svc.dev/svc/tool/mcp"
)

// Sift is what becomes of a list of one tool.
func Sift(server, name, description string) ([]Tool, []Omitted) {
	return sift(server, []client.Listed{{Name: name, Description: description, Schema: []byte(`{}`)}}, nil)
}

// Links is how many connections are kept.
func (s *Servers) Links() int { return s.links.count() }

// MaxScopeLinks is how many of them one scope has at most.
const MaxScopeLinks = maxScopeLinks

// Hold takes a connection of a scope that leads nowhere, and does not give it back.
func (s *Servers) Hold(ctx context.Context, scope string, number int) error {
	_, err := s.links.take(ctx, linkKey{scope, fmt.Sprint(number)}, func(context.Context) (*client.Server, error) { return nil, nil })
	return err
}
