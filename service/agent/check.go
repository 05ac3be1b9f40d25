package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/strictjson"
)

// Bounds of a definition.
const (
	MaxInstructions = 256 << 10 // bytes
	maxName         = 64
	maxDescription  = 2000 // code points
	maxSchema       = 64 << 10
	maxList         = 64 // tools, hosts, connectors, mcps, projects
	maxAgents       = 1000
)

var (
	nameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	toolForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	hostForm = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:[0-9]{1,5})?$`)
	itemForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
)

// problems gather what is wrong with a definition: fields for machines, and a sentence each for people.
type problems struct {
	fields    strictjson.Fields
	sentences []string
}

func (p *problems) add(field, problem, sentence string) {
	p.fields.Add(field, problem)
	p.sentences = append(p.sentences, field+": "+sentence)
}

// refusal is nil where nothing is wrong.
func (p *problems) refusal() error {
	if len(p.sentences) == 0 {
		return nil
	}
	f := strictjson.Refuse(p.fields...)
	f.Details = strings.Join(p.sentences, " ")
	return f
}

// check refuses a definition that could not be worked by, in one error that names every field, and any where there is no room. A scope that is empty is that of
// files: what workspaces have of their own is not looked for.
func (a *Agents) check(ctx context.Context, scope string, d Definition) error {
	var p problems
	p.texts(d)
	p.schema(d.OutputSchema)
	if err := p.model(ctx, a.Models, scope, d.Model); err != nil {
		return err
	}
	tools := make([]string, len(d.Tools))
	for i, entry := range d.Tools {
		var of string
		if tools[i], of = Tool(entry); strings.Contains(entry, ":") && (tools[i] != askAgent || !isName(of)) {
			p.add(place("tools", i), strictjson.Invalid, "only ask_agent names an agent, as ask_agent:writer.")
		}
	}
	lists := []struct {
		field  string
		values []string
		shown  []string // as they were written
		form   *regexp.Regexp
		known  Known
		own    bool // a workspace's
	}{
		{"tools", tools, d.Tools, toolForm, a.Tools, false},
		{"hosts", d.Hosts, d.Hosts, hostForm, nil, false},
		{"connectors", d.Connectors, d.Connectors, itemForm, a.Connectors, true},
		{"mcps", d.MCPs, d.MCPs, itemForm, a.MCPs, true},
		{"projects", d.Projects, d.Projects, itemForm, a.Projects, true},
	}
	for _, l := range lists {
		if !p.list(l.field, l.values, l.shown, l.form) || len(l.values) == 0 || l.field == "hosts" || l.own && scope == "" {
			continue
		}
		known, err := l.known.of(ctx, scope)
		if err != nil {
			return err
		}
		for i, value := range l.values {
			if own := scope == "" && strings.Contains(value, between); !own && !slices.Contains(known, value) {
				p.add(place(l.field, i), strictjson.Invalid, fmt.Sprintf("there is no %q.", value))
			}
		}
	}
	if err := p.refusal(); err != nil || scope == "" || a.Admit == nil {
		return err
	}
	return a.Admit(ctx, scope)
}

// Known are the names that there are in a workspace. Defaults to none.
type Known func(ctx context.Context, scope string) ([]string, error)

func (k Known) of(ctx context.Context, scope string) ([]string, error) {
	if k == nil {
		return nil, nil
	}
	return k(ctx, scope)
}

func isName(name string) bool { return len(name) <= maxName && nameForm.MatchString(name) }

func place(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// texts looks at what people read and write.
func (p *problems) texts(d Definition) {
	switch {
	case d.Name == "":
		p.add("name", strictjson.Required, "it is missing.")
	case len(d.Name) > maxName:
		p.add("name", strictjson.TooLong, "at most 64 characters.")
	case !nameForm.MatchString(d.Name):
		p.add("name", strictjson.Invalid, "lower-case letters, digits and single hyphens between them.")
	}
	switch {
	case utf8.RuneCountInString(d.Description) > maxDescription:
		p.add("description", strictjson.TooLong, "at most 2000 characters.")
	case !isText(d.Description):
		p.add("description", strictjson.Invalid, "it is no text.")
	}
	switch {
	case len(d.Instructions) > MaxInstructions:
		p.add("instructions", strictjson.TooLong, "at most 256 KiB.")
	case !isText(d.Instructions):
		p.add("instructions", strictjson.Invalid, "it is no text.")
	}
	if !slices.Contains([]Reasoning{"", "low", "medium", "high"}, d.Reasoning) {
		p.add("reasoning", strictjson.Invalid, "low, medium or high.")
	}
}

// isText reports whether a text has no control characters but line breaks and tabs.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// model asks whether there is one of that name. A database that does not answer is an error, and refuses nothing.
func (p *problems) model(ctx context.Context, models func(context.Context, string, string) error, scope, name string) error {
	if name == "" {
		return nil
	}
	if provider, id, _ := strings.Cut(name, "/"); provider == "" || id == "" || !isText(name) || len(name) > 200 || strings.ContainsAny(name, "\n\t ") {
		p.add("model", strictjson.Invalid, "a model is named provider/model.")
		return nil
	}
	if models == nil {
		return nil
	}
	err := models(ctx, scope, name)
	f, is := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
	case is:
		p.add("model", strictjson.Invalid, strings.TrimSpace(f.Message+" "+f.Details))
	case sqldb.Unavailable(err) || ctx.Err() != nil:
		return err
	default:
		p.add("model", strictjson.Invalid, fmt.Sprintf("there is no model %q.", name))
	}
	return nil
}

// list looks at the form of values, and reports whether it is well.
func (p *problems) list(field string, values, shown []string, form *regexp.Regexp) bool {
	if len(values) > maxList {
		p.add(field, strictjson.TooLong, "at most 64.")
		return false
	}
	well := true
	for i, value := range values {
		switch {
		case !form.MatchString(value):
			p.add(place(field, i), strictjson.Invalid, "this is no name.")
			well = false
		case slices.Contains(shown[:i], shown[i]):
			p.add(place(field, i), strictjson.Duplicate, fmt.Sprintf("%q is named twice.", value))
		}
	}
	return well
}

// schema looks whether answers could be held to it.
func (p *problems) schema(text json.RawMessage) {
	if text == nil {
		return
	}
	if len(text) > maxSchema {
		p.add("outputSchema", strictjson.TooLong, "at most 64 KiB.")
		return
	}
	if !isText(string(text)) {
		p.add("outputSchema", strictjson.Invalid, "it is no text.")
	} else if _, err := svc.ParseOutput(text); err != nil {
		p.add("outputSchema", strictjson.Invalid, err.Error()+".")
	}
}
