package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Settings are what is chosen of an agent, but for its texts.
type Settings struct {
	Description string `json:"description"`
	// Model is provider/model; empty: the workspace's own choice.
	Model     string `json:"model"`
	Reasoning string `json:"reasoning,omitzero" enum:"low medium high"` // empty: none
	// Tools are names of tools. ask_agent may name the one agent that it asks, as ask_agent:writer; one tool of an MCP server is
	// named with it, as search__find.
	Tools      []string `json:"tools"`
	Hosts      []string `json:"hosts"` // that http_fetch may ask
	Connectors []string `json:"connectors"`
	MCPs       []string `json:"mcps"` // servers of which it has all tools that are switched on
	Projects   []string `json:"projects"`
	// Exposed: API keys reach it, beside the people of the workspace.
	Exposed bool `json:"exposed"`
}

// Definition is an agent as it was written, whoever wrote it and wherever it is kept.
type Definition struct {
	Name string `json:"name"`
	Settings
	Instructions string `json:"instructions"`
	// OutputSchema is the JSON Schema of its answers. Defaults to none: they are text.
	OutputSchema json.RawMessage `json:"outputSchema" type:"object" null:"its answers are text"`
}

// Edit is what changes of a definition; nil stays. An outputSchema of null is none.
type Edit struct {
	Description  *string         `json:"description,omitzero"`
	Instructions *string         `json:"instructions,omitzero"`
	Model        *string         `json:"model,omitzero"`
	Reasoning    *string         `json:"reasoning,omitzero"`
	Tools        *[]string       `json:"tools,omitzero"`
	Hosts        *[]string       `json:"hosts,omitzero"`
	Connectors   *[]string       `json:"connectors,omitzero"`
	MCPs         *[]string       `json:"mcps,omitzero"`
	Projects     *[]string       `json:"projects,omitzero"`
	OutputSchema json.RawMessage `json:"outputSchema,omitzero" type:"object" null:"its answers are text"`
	Exposed      *bool           `json:"exposed,omitzero"`
}

// Draft is what a new agent is made of.
type Draft struct {
	Name string `json:"name"`
	Edit
}

// definition is the new agent.
func (d Draft) definition() Definition {
	return d.Edit.of(Definition{Name: d.Name})
}

// of is a definition with what the edit changes of it.
func (e Edit) of(d Definition) Definition {
	put(&d.Description, e.Description)
	put(&d.Instructions, e.Instructions)
	put(&d.Model, e.Model)
	put(&d.Reasoning, e.Reasoning)
	put(&d.Tools, e.Tools)
	put(&d.Hosts, e.Hosts)
	put(&d.Connectors, e.Connectors)
	put(&d.MCPs, e.MCPs)
	put(&d.Projects, e.Projects)
	put(&d.Exposed, e.Exposed)
	if e.OutputSchema != nil {
		d.OutputSchema = e.OutputSchema
	}
	return d.plain()
}

func put[T any](into *T, given *T) {
	if given != nil {
		*into = *given
	}
}

// plain is a definition in the one form in which equal ones are equal: texts without the space around them and with
// our line breaks, lists that are there, a schema without spaces.
func (d Definition) plain() Definition {
	d.Description, d.Instructions = lineBreaks.Replace(strings.TrimSpace(d.Description)), lineBreaks.Replace(strings.TrimSpace(d.Instructions))
	for _, list := range []*[]string{&d.Tools, &d.Hosts, &d.Connectors, &d.MCPs, &d.Projects} {
		if *list = slices.Clone(*list); *list == nil {
			*list = []string{}
		}
	}
	var short bytes.Buffer
	if json.Compact(&short, d.OutputSchema) == nil {
		d.OutputSchema = short.Bytes()
	}
	if len(d.OutputSchema) == 0 || string(d.OutputSchema) == "null" {
		d.OutputSchema = nil
	}
	return d
}

// lineBreaks are those of other systems.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Change is what differs in a field of two versions.
type Change struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// fields are those of a definition by their names, in the order of its description.
var fields = []struct {
	name string
	of   func(Definition) any
}{
	{"description", func(d Definition) any { return d.Description }},
	{"instructions", func(d Definition) any { return d.Instructions }},
	{"model", func(d Definition) any { return d.Model }},
	{"reasoning", func(d Definition) any { return d.Reasoning }},
	{"tools", func(d Definition) any { return d.Tools }},
	{"hosts", func(d Definition) any { return d.Hosts }},
	{"connectors", func(d Definition) any { return d.Connectors }},
	{"mcps", func(d Definition) any { return d.MCPs }},
	{"projects", func(d Definition) any { return d.Projects }},
	{"outputSchema", func(d Definition) any { return d.OutputSchema }},
	{"exposed", func(d Definition) any { return d.Exposed }},
}

// Diff is what differs between two definitions, field by field.
func Diff(before, after Definition) []Change {
	all := []Change{}
	before, after = before.plain(), after.plain()
	for _, f := range fields {
		was, _ := json.Marshal(f.of(before)) // texts, lists and what was found to be JSON
		is, _ := json.Marshal(f.of(after))
		if !bytes.Equal(was, is) {
			all = append(all, Change{f.name, was, is})
		}
	}
	return all
}

// changed are the names of the fields that differ.
func changed(before, after Definition) []string {
	var names []string
	for _, c := range Diff(before, after) {
		names = append(names, c.Field)
	}
	return names
}

// askAgent is the tool by which an agent asks another.
const askAgent = "ask_agent"

// Tool is the name of a tool that a definition names, and the one agent that an ask_agent is for; empty: any.
func Tool(entry string) (name, agent string) {
	name, agent, _ = strings.Cut(entry, ":")
	return name, agent
}

// between stands between the name of an MCP server and that of a tool.
const between = "__"

// Offers are what a definition names of MCP servers: names of servers, and of single tools.
func (s Settings) Offers() []string {
	all := slices.Clone(s.MCPs)
	for _, entry := range s.Tools {
		if strings.Contains(entry, between) {
			all = append(all, entry)
		}
	}
	return all
}

// asks are the agents that a definition names.
func (s Settings) asks() (all []string) {
	for _, entry := range s.Tools {
		if name, agent := Tool(entry); name == askAgent && agent != "" {
			all = append(all, agent)
		}
	}
	return all
}
