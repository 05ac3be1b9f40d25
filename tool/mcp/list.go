package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of what a server may list. A tool beyond them is left out.
const (
	maxTools       = 512
	maxDescription = 4096
	maxSchema      = 64 << 10
	maxName        = 64 // of the providers
)

// listed is a tool as the model is told of it. Its source is the server's own name for it.
type listed struct {
	source, name, description string
	schema                    string // in JSON
	destructive               bool
}

// Listed is a tool by its server's own name for it.
type Listed struct {
	Name, Description string
	Schema            json.RawMessage
	// Destructive is what the server says of it: that it may destroy something. One that says nothing is not called so.
	Destructive bool
}

// Omitted is a tool that is left out, and why. Its name is as the server gave it.
type Omitted struct{ Name, Reason string }

// catalog is what a server has, and what of it is left out.
type catalog struct {
	tools   []listed
	omitted []Omitted
}

// Listing is what the server has now, whether or not Config allows it, and what of it is left out.
func (s *Server) Listing() ([]Listed, []Omitted) {
	s.mu.Lock()
	has := s.has
	s.mu.Unlock()
	all := make([]Listed, 0, len(has.tools))
	for _, t := range has.tools {
		all = append(all, Listed{t.source, t.description, json.RawMessage(t.schema), t.destructive})
	}
	return all, has.omitted
}

// list asks the server for all pages of its tools.
func (s *Server) list(ctx context.Context, l *link) (has catalog, err error) {
	hello := l.session.InitializeResult()
	if hello == nil || hello.Capabilities == nil || hello.Capabilities.Tools == nil {
		return catalog{}, nil
	}
	l.within(ctx, s.config.Grace, func() { has, err = s.pages(ctx, l) })
	return has, err
}

func (s *Server) pages(ctx context.Context, l *link) (has catalog, _ error) {
	omit := func(tool, reason string) {
		s.config.Log.Warn("mcp tool left out", "tool", cut(tool, maxReason), "reason", reason)
		has.omitted = append(has.omitted, Omitted{tool, reason})
	}
	seen := map[string]bool{}
	looked := 0
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			return catalog{}, notConnected(ctx, l, err)
		}
		// What is left out counts too: a list of nothing else would have no end.
		if looked++; looked > maxTools {
			omit("", "there are too many tools")
			break
		}
		if t == nil || t.Name == "" || seen[t.Name] {
			omit("", "it has no name of its own")
			continue
		}
		seen[t.Name] = true
		schema, ok := schemaOf(t.InputSchema)
		if !ok {
			omit(t.Name, "its schema is not one of an object, or too large")
			continue
		}
		has.tools = append(has.tools, listed{source: t.Name, description: cut(cmp.Or(t.Description, t.Title), maxDescription), schema: string(schema), destructive: isDestructive(t.Annotations)})
	}
	has.tools = named(s.config.Name, has.tools)
	return has, nil
}

// isDestructive reports whether a server says of a tool that it may destroy something. The protocol's own default is yes, which would
// mark every tool of a server that says nothing.
func isDestructive(hints *sdk.ToolAnnotations) bool {
	return hints != nil && !hints.ReadOnlyHint && hints.DestructiveHint != nil && *hints.DestructiveHint
}

// schemaOf is the schema as the server gave it; where it leaves that open, it says that an input is an object, as the
// providers want it.
func schemaOf(given any) (json.RawMessage, bool) {
	if given == nil {
		given = map[string]any{}
	}
	m, ok := given.(map[string]any)
	if !ok {
		return nil, false
	}
	if m["type"] == nil {
		m["type"] = "object"
	}
	if m["properties"] == nil {
		m["properties"] = map[string]any{}
	}
	_, ok = m["properties"].(map[string]any)
	data, err := encode(m)
	return data, ok && m["type"] == "object" && err == nil && len(data) <= maxSchema
}

// encode writes JSON that is also easy to read for a model.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// named gives each tool a name that providers accept and that no other of the list has. It depends on what is listed, not on
// the order: a name that two would have is left to the one whose own it is.
func named(prefix string, tools []listed) []listed {
	if prefix != "" {
		prefix = plain(prefix) + "_"
	}
	claims := map[string]int{}
	for _, t := range tools {
		claims[prefix+plain(t.source)]++
	}
	taken := map[string]bool{}
	var kept []listed
	for _, t := range tools {
		t.name = prefix + plain(t.source)
		if len(t.name) > maxName || claims[t.name] > 1 && t.name != prefix+t.source {
			t.name = marked(t.name, t.source)
		}
		// Only who chose names for it meets this.
		if taken[t.name] {
			continue
		}
		taken[t.name] = true
		kept = append(kept, t)
	}
	return kept
}

// strange are the characters that not every provider accepts.
var strange = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

func plain(name string) string { return strange.ReplaceAllString(name, "_") }

// marked makes a name different by what it stands for, within the bound.
func marked(name, source string) string {
	sum := sha256.Sum256([]byte(source))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(mark))] + mark
}
