package agent

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"svc.dev/svc/internal/sqldb"
)

// Bounds of the front matter of a file: that of every definition is within them.
const (
	maxFront = 384 << 10 // bytes
	maxNodes = 40_000
	maxDepth = 36  // of the front matter, so that a schema in it is nested 32 deep
	maxSaid  = 500 // bytes of what is said to be wrong
)

// front is what stands before the instructions in a file.
type front struct {
	Name         string   `yaml:"name,omitempty"`
	Description  string   `yaml:"description,omitempty"`
	Model        string   `yaml:"model,omitempty"`
	Reasoning    string   `yaml:"reasoning,omitempty"`
	Tools        []string `yaml:"tools,omitempty"`
	Hosts        []string `yaml:"hosts,omitempty"`
	Connectors   []string `yaml:"connectors,omitempty"`
	MCPs         []string `yaml:"mcps,omitempty"`
	Projects     []string `yaml:"projects,omitempty"`
	OutputSchema any      `yaml:"outputSchema,omitempty"`
	Exposed      bool     `yaml:"exposed,omitempty"`
}

// outputSchema is the name of the one setting that is more than a text, a truth or a list of texts.
const outputSchema = "outputSchema"

// settingNames are those that the front matter may have.
var settingNames = map[string]bool{
	"name": true, "description": true, "model": true, "reasoning": true, "tools": true, "hosts": true, "connectors": true, "mcps": true, "projects": true,
	outputSchema: true, "exposed": true,
}

// goType is how the parser of YAML speaks of our types.
var goType = regexp.MustCompile(` in type \S+| into \S+$`)

// read takes the settings, each of which there may be once. Names that there are not are refused.
//
// The text is a tree first, and the tree is looked at: the decoder compares each key with each other, and tells references out.
func (f *front) read(text string) error {
	if len(text) > maxFront {
		return malformed("the front matter is too long.")
	}
	root, err := tree(text)
	if err != nil || root == nil {
		return err
	}
	if root.Kind != yaml.MappingNode {
		return unread(root.Decode(f))
	}
	var rest []*yaml.Node
	var schema *yaml.Node
	for i := 0; i < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		switch {
		case !settingNames[name.Value]:
			return malformed(fmt.Sprintf("line %d: field %s not found.", name.Line, name.Value))
		case name.Value == outputSchema:
			schema = value
		case !flat(value):
			return malformed(fmt.Sprintf("line %d: cannot unmarshal %s as %s.", value.Line, value.ShortTag(), name.Value))
		default:
			rest = append(rest, name, value)
		}
	}
	root.Content = rest
	if err := root.Decode(f); err != nil || schema == nil {
		return unread(err)
	}
	f.OutputSchema, err = valueOf(schema)
	return err
}

// tree is the one document of a text, in which nothing is named twice or told by reference; nil: nothing is said.
func tree(text string) (*yaml.Node, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var document yaml.Node
	err := d.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, unread(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, malformed("the front matter is more than one document.")
	}
	looked := look{}
	if err := looked.at(&document, -1); err != nil {
		return nil, err
	}
	return document.Content[0], nil
}

// look is how much of a tree was looked at.
type look struct{ nodes int }

func (l *look) at(n *yaml.Node, depth int) error {
	switch l.nodes++; {
	case l.nodes > maxNodes || depth > maxDepth:
		return malformed(fmt.Sprintf("line %d: the front matter is too large, or too deep.", n.Line))
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return malformed(fmt.Sprintf("line %d: references are not read: write it out.", n.Line))
	}
	seen := map[string]bool{}
	for i, below := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if below.Kind != yaml.ScalarNode {
				return malformed(fmt.Sprintf("line %d: a mapping key is no text.", below.Line))
			}
			if seen[below.Value] {
				return malformed(fmt.Sprintf("line %d: mapping key %q already defined.", below.Line, below.Value))
			}
			seen[below.Value] = true
		}
		if err := l.at(below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// flat reports whether a value is a scalar, or a list of such.
func flat(n *yaml.Node) bool {
	if n.Kind == yaml.SequenceNode {
		for _, below := range n.Content {
			if below.Kind != yaml.ScalarNode {
				return false
			}
		}
		return true
	}
	return n.Kind == yaml.ScalarNode
}

// valueOf is what a tree says, as JSON has it.
func valueOf(n *yaml.Node) (value any, err error) {
	switch {
	case n.Kind == yaml.MappingNode:
		all := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content) && err == nil; i += 2 {
			if n.Content[i].ShortTag() != "!!str" {
				return nil, noJSON()
			}
			all[n.Content[i].Value], err = valueOf(n.Content[i+1])
		}
		return all, err
	case n.Kind == yaml.SequenceNode:
		all := make([]any, len(n.Content))
		for i := 0; i < len(all) && err == nil; i++ {
			all[i], err = valueOf(n.Content[i])
		}
		return all, err
	case n.ShortTag() == "!!str":
		return n.Value, nil
	}
	err = n.Decode(&value)
	return value, unread(err)
}

// unread is what the reader of YAML finds wrong, in our words.
func unread(err error) error {
	if err == nil {
		return nil
	}
	said := sqldb.Text(strings.TrimPrefix(err.Error(), "yaml: "), maxSaid)
	said = strings.Join(strings.Fields(said), " ")
	return malformed(strings.TrimPrefix(goType.ReplaceAllString(said, ""), "unmarshal errors: ") + ".")
}
