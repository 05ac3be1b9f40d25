package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	client "svc.dev/svc/tool/mcp"
)

// Bounds of what is kept of a server's list.
const (
	maxTools   = 256
	maxSchemas = 1 << 20 // bytes of all schemas and descriptions
	maxOmitted = 50
	maxCalled  = 64 // characters of a tool's name, as models take it
	between    = "__"
)

// called is the grammar of a tool's name at the providers of models.
var called = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Tool is a tool of a server.
type Tool struct {
	Name        string          `json:"name"` // the server's own
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema" type:"object"`
	Enabled     bool            `json:"enabled"`
	Changed     bool            `json:"changed"` // it was switched off because it became another
	New         bool            `json:"new"`     // it came after the server was first connected, and nobody has switched it yet
	// Destructive is what the server says of it: that it may destroy something.
	Destructive bool `json:"destructive"`
}

// Omitted is what a server lists and cannot be used, and why.
type Omitted struct {
	Name   string `json:"name"` // as far as it can be printed
	Reason string `json:"reason"`
}

// CalledBy is the name by which models call a tool.
func CalledBy(server, tool string) string { return server + between + tool }

// same reports whether a model would be told the same of both.
func (t Tool) same(other Tool) bool {
	return t.Description == other.Description && string(t.InputSchema) == string(other.InputSchema)
}

// sift takes of a server's list what models can use, and says of the rest why not.
func sift(server string, all []client.Listed, left []client.Omitted) (kept []Tool, omitted []Omitted) {
	omit := func(name, reason string) { omitted = append(omitted, Omitted{printable(name, 80), reason}) }
	for _, o := range left {
		omit(o.Name, o.Reason)
	}
	size := 0
	for _, t := range all {
		tool := Tool{Name: t.Name, Description: plain(t.Description), InputSchema: t.Schema, Destructive: t.Destructive}
		length := len(tool.Description) + len(tool.InputSchema)
		switch {
		case !called.MatchString(t.Name):
			omit(t.Name, "its name has characters that models do not take, or too many")
		case len(CalledBy(server, t.Name)) > maxCalled:
			omit(t.Name, "its name is too long behind that of the server")
		case len(kept) == maxTools:
			omit(t.Name, "there are too many tools")
		case size+length > maxSchemas:
			omit(t.Name, "the schemas of all tools are too large")
		default:
			size += length
			kept = append(kept, tool)
		}
	}
	if more := len(omitted) - maxOmitted; more > 0 {
		omitted = append(omitted[:maxOmitted], Omitted{Reason: fmt.Sprintf("%d more", more)})
	}
	return kept, omitted
}

// plain is a text without what cannot be seen or stored.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
}

// printable is the beginning of a name, with a mark for what cannot be printed.
func printable(name string, most int) string {
	var b strings.Builder
	for _, r := range name {
		if most--; most < 0 {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) {
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
	}
	return b.String()
}

const toolColumns = "name, description, input_schema, enabled, changed, fresh, destructive"

func scanTool(row sqldb.Row) (t Tool, err error) {
	var schema string
	err = row.Scan(&t.Name, &t.Description, &schema, &t.Enabled, &t.Changed, &t.New, &t.Destructive)
	t.InputSchema = json.RawMessage(schema)
	return t, err
}

// toolsOf are the tools of a server, by name.
func toolsOf(tx *sqldb.Tx, server string) ([]Tool, error) {
	all, err := sqldb.Collect(tx, scanTool, "SELECT "+toolColumns+" FROM mcp_tools WHERE server = $1 ORDER BY name", server)
	if all == nil {
		all = []Tool{}
	}
	return all, err
}

// reconcile makes what is kept of a server's tools what the server has. What is new is off, and what has become another is switched
// off; off names those that were on. news: something differs.
func reconcile(tx *sqldb.Tx, server string, has []Tool) (off []string, news bool, err error) {
	kept, err := toolsOf(tx, server)
	if err != nil {
		return nil, false, err
	}
	before := map[string]Tool{}
	for _, t := range kept {
		before[t.Name] = t
	}
	for _, t := range has {
		old, known := before[t.Name]
		delete(before, t.Name)
		switch {
		case !known:
			// Of the first list everything is new, so that nothing of it need be said to be.
			err = tx.Do("add tool", "INSERT INTO mcp_tools (server, name, description, input_schema, fresh, destructive) VALUES ($1, $2, $3, $4, $5, $6)",
				server, t.Name, t.Description, string(t.InputSchema), sqldb.Bit(len(kept) > 0), sqldb.Bit(t.Destructive))
		case old.same(t) && old.Destructive == t.Destructive:
			continue
		case old.same(t):
			// No model is told of it, so that what is on stays on.
			err = tx.Do("mark tool", "UPDATE mcp_tools SET destructive = $3 WHERE server = $1 AND name = $2", server, t.Name, sqldb.Bit(t.Destructive))
		default:
			if old.Enabled {
				off = append(off, t.Name)
			}
			err = tx.Do("change tool", "UPDATE mcp_tools SET description = $3, input_schema = $4, enabled = 0, changed = $5, destructive = $6 WHERE server = $1 AND name = $2",
				server, t.Name, t.Description, string(t.InputSchema), sqldb.Bit(old.Enabled || old.Changed), sqldb.Bit(t.Destructive))
		}
		if news = true; err != nil {
			return off, news, err
		}
	}
	for name := range before {
		news = true
		if err := tx.Do("remove tool", "DELETE FROM mcp_tools WHERE server = $1 AND name = $2", server, name); err != nil {
			return off, news, err
		}
	}
	return off, news, nil
}

// Enable switches a tool on or off, of a server whose version is the one given; 0 is any. What it is now has then been looked at.
func (s *Servers) Enable(ctx context.Context, by audit.Actor, scope, id, tool string, version int64, on bool) (Detail, error) {
	d, err := sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (Detail, error) {
		if _, err := claim(tx, scope, id, version); err != nil {
			return Detail{}, err
		}
		if !called.MatchString(tool) {
			return Detail{}, NotFound()
		}
		before, found, err := sqldb.First(tx, "find tool", scanTool, "SELECT "+toolColumns+" FROM mcp_tools WHERE server = $1 AND name = $2", id, tool)
		if err == nil && !found {
			err = NotFound()
		}
		if err != nil {
			return Detail{}, err
		}
		if before.Enabled != on || before.Changed || before.New {
			err = cmp.Or(tx.Do("switch tool", "UPDATE mcp_tools SET enabled = $3, changed = 0, fresh = 0 WHERE server = $1 AND name = $2", id, tool, sqldb.Bit(on)),
				s.touch(tx, id), s.Audit.Append(ctx, tx, event(by, scope, action(on), id, tool)))
		}
		d, failed := s.detail(tx, scope, id)
		return d, cmp.Or(err, failed)
	})
	return s.told(ctx, d, err)
}

func action(on bool) string {
	if on {
		return "mcp.tool_enabled"
	}
	return "mcp.tool_disabled"
}

// touch raises the version of a server.
func (s *Servers) touch(tx *sqldb.Tx, id string) error {
	return tx.Do("touch MCP server", "UPDATE mcp_servers SET version = version + 1, updated_at = $2 WHERE id = $1", id, s.Now().UnixMilli())
}
