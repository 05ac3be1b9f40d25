package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Settings are what is chosen of an agent, but for its texts.
type Settings struct {
	Description string `json:"description"`
	// Model is provider/model; empty: the workspace's own choice.
	Model     string    `json:"model"`
	Reasoning Reasoning `json:"reasoning" enum:"low medium high" null:"none"`
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

// Reasoning is how hard the model of an agent thinks: low, medium or high. Empty is not at all, which is null in JSON.
type Reasoning string

// MarshalJSON writes a text or null.
func (r Reasoning) MarshalJSON() ([]byte, error) {
	if r == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(r))
}

// Definition is an agent as it was written, whoever wrote it and wherever it is kept.
type Definition struct {
	Name string `json:"name"`
	Settings
	Instructions string `json:"instructions"`
	// OutputSchema is the JSON Schema of its answers. Defaults to none: they are text.
	OutputSchema json.RawMessage `json:"outputSchema" type:"object" null:"its answers are text"`
}

// Edit is what changes of a definition; nil stays, and null in JSON resets.
type Edit struct {
	Description  *string         `json:"description,omitzero" null:"none"`
	Instructions *string         `json:"instructions,omitzero" null:"none"`
	Model        *string         `json:"model,omitzero" null:"the workspace's own choice"`
	Reasoning    *string         `json:"reasoning,omitzero" enum:"low medium high" null:"none"`
	Tools        *[]string       `json:"tools,omitzero" null:"none"`
	Hosts        *[]string       `json:"hosts,omitzero" null:"none"`
	Connectors   *[]string       `json:"connectors,omitzero" null:"none"`
	MCPs         *[]string       `json:"mcps,omitzero" null:"none"`
	Projects     *[]string       `json:"projects,omitzero" null:"none"`
	OutputSchema json.RawMessage `json:"outputSchema,omitzero" type:"object" null:"its answers are text"`
	Exposed      *bool           `json:"exposed,omitzero" null:"no"`
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
	put(&d.Reasoning, (*Reasoning)(e.Reasoning))
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
// our line breaks, lists that are there, a schema in canonical JSON.
func (d Definition) plain() Definition {
	d.Description, d.Instructions = lineBreaks.Replace(strings.TrimSpace(d.Description)), lineBreaks.Replace(strings.TrimSpace(d.Instructions))
	for _, list := range []*[]string{&d.Tools, &d.Hosts, &d.Connectors, &d.MCPs, &d.Projects} {
		if *list = slices.Clone(*list); *list == nil {
			*list = []string{}
		}
	}
	if value, err := readJSON(d.OutputSchema); err == nil {
		d.OutputSchema, _ = writeJSON(value) // what was read can be written
	}
	if len(d.OutputSchema) == 0 || string(d.OutputSchema) == "null" {
		d.OutputSchema = nil
	}
	return d
}

// readJSON is the value of a JSON text. A whole number that 64 bits hold stays exact; every other is what a float64 is nearest to,
// as it is for the readers of YAML.
func readJSON(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	return counted(value)
}

// counted is a value with its numbers as Go has them.
func counted(value any) (_ any, err error) {
	switch v := value.(type) {
	case json.Number:
		return count(v.String())
	case []any:
		for i := range v {
			if v[i], err = counted(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = counted(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func count(digits string) (any, error) {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return n, nil
	}
	n, err := strconv.ParseFloat(digits, 64)
	if whole := int64(n); err == nil && float64(whole) == n && math.Abs(n) < 1<<62 {
		return whole, nil // 1.0 and -0.0 are written like 1 and 0
	}
	return n, err
}

// writeJSON is the canonical text of a value: equal ones have the same. Keys are in order, there is no space, and a character that
// can stand for itself does.
func writeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
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
