package mcp

import client "svc.dev/svc/tool/mcp"

// Sift is what becomes of a list of one tool.
func Sift(server, name, description string) ([]Tool, []Omitted) {
	return sift(server, []client.Listed{{Name: name, Description: description, Schema: []byte(`{}`)}}, nil)
}

// Links is how many connections are kept.
func (s *Servers) Links() int { return s.links.count() }
