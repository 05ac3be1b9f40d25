package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// Uses are which agents of a workspace name what, by the names of both.
type Uses struct {
	Agents map[string][]string `json:"agents"` // as those whom they ask
	MCPs   map[string][]string `json:"mcps"`
}

// Of are the agents that ask one.
func (u Uses) Of(agent string) []string {
	if all := u.Agents[agent]; all != nil {
		return all
	}
	return []string{}
}

// Uses are those of all agents that there are in a workspace, whoever wrote them. declared are those of code: what they use is not
// known, but that another of their name is not used.
func (a *Agents) Uses(ctx context.Context, scope string, declared []svc.AgentInfo) (Uses, error) {
	stored, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) ([]Definition, error) { return current(tx, scope) })
	if err != nil {
		return Uses{}, fmt.Errorf("find who uses what: %w", err)
	}
	all := slices.Clone(a.BuiltIn)
	for _, d := range declared {
		all = append(all, Definition{Name: d.Name})
	}
	for _, f := range a.shelf.all() {
		all = append(all, f.Definition)
	}
	u, taken := Uses{Agents: map[string][]string{}, MCPs: map[string][]string{}}, map[string]bool{}
	for _, d := range append(all, stored...) {
		if !taken[d.Name] {
			taken[d.Name] = true
			u.add(d)
		}
	}
	return u, nil
}

// add counts what a definition names.
func (u Uses) add(d Definition) {
	for _, asked := range d.asks() {
		use(u.Agents, asked, d.Name)
	}
	for _, name := range d.Offers() {
		server, _, _ := strings.Cut(name, between)
		use(u.MCPs, server, d.Name)
	}
}

// use counts an agent among those that name something, once.
func use(all map[string][]string, name, by string) {
	if !slices.Contains(all[name], by) {
		all[name] = append(all[name], by)
	}
}
