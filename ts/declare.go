package ts

import (
	"encoding/json"
	"fmt"
	"net/http"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/bundle"
)

// declarations are what a project's modules declare, as the prelude tells it.
type declarations struct {
	Agents []struct {
		Name, Description  string
		Route, Attachments bool
	}
	Workflows []struct {
		Name, Description string
		Route, Runs       bool
		Input             json.RawMessage
	}
	Channels []struct {
		Name   string
		Routes []struct{ Method, Path string }
	}
	App bool
}

// Declaration is what one module declares.
type Declaration struct {
	Kind        string // agent, workflow or channel
	Name        string
	Description string
	// Served tells whether the API shows it: its module exports route. A channel always is.
	Served bool
	// Input is the JSON Schema of a workflow's input. Nil: it takes none.
	Input json.RawMessage
	// Routes are a channel's, as "POST /events".
	Routes []string
}

// Declarations are what the project's modules declare: agents, workflows, channels.
func (p *Project) Declarations() []Declaration { return p.declared }

// listed is what the modules declare as others may read it.
func (d declarations) listed() (all []Declaration) {
	for _, a := range d.Agents {
		all = append(all, Declaration{Kind: ofAgent, Name: a.Name, Description: a.Description, Served: a.Route})
	}
	for _, w := range d.Workflows {
		one := Declaration{Kind: ofWorkflow, Name: w.Name, Description: w.Description, Served: w.Route}
		if string(w.Input) != "null" {
			one.Input = w.Input
		}
		all = append(all, one)
	}
	for _, c := range d.Channels {
		one := Declaration{Kind: "channel", Name: c.Name, Served: true}
		for _, r := range c.Routes {
			one.Routes = append(one.Routes, r.Method+" "+r.Path)
		}
		all = append(all, one)
	}
	return all
}

// declared is a module.
type declared struct{ kind, name string }

// HasEntrypoint reports whether there is an application, which owns every path. Without one there is the API alone.
func (p *Project) HasEntrypoint() bool { return p.app }

// API is the API at its own paths, whatever the application mounts: for a program that has addresses of its own for it.
func (p *Project) API() http.Handler { return p.api }

// Declares reports whether a module of a kind (agents, workflows or channels) has that name.
func (p *Project) Declares(kind, name string) bool { return p.names[declared{kind, name}] }

// declare adds to the Runtime what the project has.
func (p *Project) declare(d declarations) error {
	p.app, p.declared = d.App, d.listed()
	for _, a := range d.Agents {
		agent := &svc.Agent{Name: a.Name, Description: a.Description, For: p.initializer(ofAgent, a.Name, nil)}
		if a.Route {
			agent.Route = p.guard(bundle.Agents, a.Name, "route")
		}
		if a.Attachments {
			agent.Attachments = p.guard(bundle.Agents, a.Name, "attachments")
		}
		if err := p.taken(bundle.Agents, a.Name, func() { p.rt.AddAgent(agent) }); err != nil {
			return err
		}
	}
	for _, w := range d.Workflows {
		wf, err := p.newWorkflow(w.Name, w.Input)
		if err != nil {
			return invalid(fmt.Sprintf("workflows/%s: %v.", w.Name, err))
		}
		wf.Description = w.Description
		if w.Route {
			wf.Route = p.guard(bundle.Workflows, w.Name, "route")
		}
		if w.Runs {
			wf.Runs = p.guard(bundle.Workflows, w.Name, "runs")
		}
		if err := p.taken(bundle.Workflows, w.Name, func() { p.rt.AddWorkflow(wf) }); err != nil {
			return err
		}
	}
	for _, c := range d.Channels {
		channel := &svc.Channel{Name: c.Name}
		for i, r := range c.Routes {
			channel.Routes = append(channel.Routes, svc.ChannelRoute{Method: r.Method, Path: r.Path, Handler: p.channel(c.Name, i)})
		}
		if err := p.taken(bundle.Channels, c.Name, func() { p.rt.AddChannel(channel) }); err != nil {
			return err
		}
	}
	return nil
}

// taken declares a module. The Runtime panics for what a program could not serve, or has already; here that is a mistake of the module.
func (p *Project) taken(kind bundle.Kind, name string, add func()) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = invalid(fmt.Sprintf("%s/%s: %v.", kind, name, why))
		}
	}()
	add()
	p.names[declared{string(kind), name}] = true
	return nil
}

// invalid is a module that cannot be served.
func invalid(message string) error { return fault.New("module_invalid", message, "") }
