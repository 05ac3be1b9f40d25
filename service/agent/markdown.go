package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

// MaxFile is how long the file of an agent may be: that of every definition fits, its schema escaped character by character.
const MaxFile = MaxInstructions + maxFront

// fence begins and ends the front matter.
const fence = "---\n"

// Parse reads an agent from a file: settings in YAML between two lines of three hyphens, then its instructions. The name is that of
// the file; where there is none, the text says it. What is no such file is a fault that says why.
func Parse(name string, text []byte) (Definition, error) {
	if len(text) > MaxFile {
		return Definition{}, fault.New(fault.BodyTooLarge, "The file of an agent is too long.", "").With("limit", MaxFile)
	}
	plain := lineBreaks.Replace(strings.TrimPrefix(string(text), "\ufeff"))
	if strings.TrimSpace(plain) == "" {
		return Definition{}, malformed("there is no text in it.")
	}
	var f front
	if rest, found := strings.CutPrefix(plain, fence); found {
		head, body, closed := strings.Cut("\n"+rest+"\n", "\n"+fence)
		if !closed {
			return Definition{}, malformed("the front matter has no end: a line of ---.")
		}
		if err := f.read(head); err != nil {
			return Definition{}, err
		}
		plain = body
	}
	switch {
	case name == "" && f.Name == "":
		return Definition{}, malformed("name: it is missing.")
	case name != "" && f.Name != "" && f.Name != name:
		return Definition{}, malformed(fmt.Sprintf("name: %q is not that of the file, %q.", f.Name, name))
	case name == "":
		name = f.Name
	}
	schema, err := schemaText(f.OutputSchema)
	return Definition{
		Name: name, Instructions: plain, OutputSchema: schema,
		Settings: Settings{f.Description, f.Model, Reasoning(f.Reasoning), f.Tools, f.Hosts, f.Connectors, f.MCPs, f.Projects, f.Exposed},
	}.plain(), err
}

func schemaText(schema any) (json.RawMessage, error) {
	if schema == nil {
		return nil, nil
	}
	text, err := writeJSON(schema)
	if err != nil {
		return nil, noJSON()
	}
	return text, nil
}

func noJSON() error { return malformed("outputSchema: it has no JSON.") }

func malformed(why string) error {
	return fault.New(fault.InvalidRequest, "This is not the file of an agent.", sqldb.Text(why, maxSaid))
}

// Print is an agent as a file, which Parse reads as the same. A schema that is deep, or would make it too long, stands in one line.
func Print(d Definition) ([]byte, error) {
	d = d.plain()
	f := front{
		Name: d.Name, Description: d.Description, Model: d.Model, Reasoning: string(d.Reasoning), Tools: d.Tools, Hosts: d.Hosts,
		Connectors: d.Connectors, MCPs: d.MCPs, Projects: d.Projects, Exposed: d.Exposed,
	}
	if d.OutputSchema == nil {
		return f.print(d.Instructions)
	}
	value, err := readJSON(d.OutputSchema)
	if err != nil {
		return nil, fmt.Errorf("print schema: %w", err)
	}
	schema := node(value)
	f.OutputSchema = schema
	if deeper(schema, maxDepth) {
		schema.Style = yaml.FlowStyle
	}
	text, err := f.print(d.Instructions)
	if err == nil && len(text) > MaxFile {
		schema.Style = yaml.FlowStyle
		text, err = f.print(d.Instructions)
	}
	return text, err
}

// deeper reports whether a tree is nested deeper than so many levels: each line of a block is indented by its depth.
func deeper(n *yaml.Node, levels int) bool {
	return levels < 0 || slices.ContainsFunc(n.Content, func(below *yaml.Node) bool { return deeper(below, levels-1) })
}

// word is a text that reads the same without quotes, but for those that YAML has a meaning for.
var word = regexp.MustCompile(`^[A-Za-z$][A-Za-z0-9_$/.-]*$`)

// node is a value of JSON in YAML. A text stands in quotes unless it is a word: the printer of YAML has forms of its own for texts of
// several lines, and does not read all of them as it wrote them.
func node(value any) *yaml.Node {
	n := &yaml.Node{}
	switch v := value.(type) {
	case map[string]any:
		n.Kind = yaml.MappingNode
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, node(name), node(v[name]))
		}
	case []any:
		n.Kind = yaml.SequenceNode
		for _, one := range v {
			n.Content = append(n.Content, node(one))
		}
	case string:
		if n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!str", v; !word.MatchString(v) {
			n.Style = yaml.DoubleQuotedStyle
		}
	default:
		_ = n.Encode(v) // null, a truth or a number, which have a form each
	}
	return n
}

func (f *front) print(instructions string) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(fence)
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(f); err != nil {
		return nil, fmt.Errorf("print agent: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("print agent: %w", err)
	}
	out.WriteString(fence + instructions + "\n")
	return out.Bytes(), nil
}
