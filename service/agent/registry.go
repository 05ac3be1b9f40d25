package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
)

// told is an agent of the database as people see it: one that is built in stays that, whatever a workspace says in its place.
func (a *Agents) told(shown Agent) Agent {
	d, is := a.builtIn(shown.Name)
	if !is {
		return shown
	}
	own := Definition{Instructions: shown.Instructions, Settings: Settings{Model: shown.Model}}
	if shown.Version > asBuilt {
		d = overlaid(d, own)
	}
	shown.Version = max(shown.Version, asBuilt)
	shown.Settings, shown.Instructions, shown.OutputSchema = d.Settings, d.Instructions, d.OutputSchema
	shown.Enabled, shown.Source = true, BuiltIn
	return shown
}

// Get is the agent that a name stands for. declared are those of code.
func (a *Agents) Get(ctx context.Context, scope, name string, declared []svc.AgentInfo) (Agent, error) {
	found, err := a.get(ctx, scope, name, declared)
	if err != nil {
		return Agent{}, err
	}
	uses, err := a.Uses(ctx, scope, declared)
	found.UsedBy = uses.Of(name)
	return found, err
}

// get is Get without those that use it.
func (a *Agents) get(ctx context.Context, scope, name string, declared []svc.AgentInfo) (Agent, error) {
	if !isName(name) {
		return Agent{}, notFound()
	}
	_, builtIn := a.builtIn(name)
	for _, d := range declared {
		if d.Name == name && !builtIn {
			return Agent{Listed: a.ofCode(d)}, nil
		}
	}
	if f := a.shelf.find(name); f != nil && !builtIn {
		return f.shown(), nil
	}
	s, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (stored, error) { return find(tx, scope, name) })
	switch {
	case err != nil:
		return Agent{}, err
	case builtIn && !s.there():
		return a.told(Agent{Listed: Listed{Name: name, scope: scope}}), nil
	case !s.there():
		return Agent{}, notFound()
	}
	return a.told(s.shown(scope)), nil
}

// ofCode is an agent that was declared in code or in a project, of which only that is known.
func (a *Agents) ofCode(d svc.AgentInfo) Listed {
	source := Code
	if a.inProject != nil && a.inProject(d.Name) {
		source = Project
	}
	return Listed{Name: d.Name, Settings: Definition{Settings: Settings{Description: d.Description, Exposed: d.Transports.HTTP}}.plain().Settings, Enabled: true, Source: source, Version: asBuilt}
}

// isDeclared reports whether agents of a source are code, which has one version: the one that it is.
func isDeclared(source string) bool { return source == Code || source == Project }

// List is the agents of a workspace: those that it did not make by name, then its own, the newest first.
func (a *Agents) List(ctx context.Context, scope string, declared []svc.AgentInfo, q listing.Query) (listing.Page[Listed], error) {
	given, err := a.given(ctx, scope, declared)
	if err != nil {
		return listing.Page[Listed]{}, err
	}
	found, err := a.list(ctx, "a.scope = $1", scope, given, q)
	if err != nil {
		return found, err
	}
	uses, err := a.Uses(ctx, scope, declared)
	for i, l := range found.Items {
		if found.Items[i].UsedBy = []string{}; l.Shadowed == "" {
			found.Items[i].UsedBy = uses.Of(l.Name)
		}
	}
	return found, err
}

// ListedOfAll is an agent among those of all workspaces. One that every workspace has is without a scope.
type ListedOfAll struct {
	Listed
	Scope *string `json:"scope"`
}

// All is the agents of all workspaces, for staff. Those that every workspace has are listed once.
func (a *Agents) All(ctx context.Context, declared []svc.AgentInfo, q listing.Query) (listing.Page[ListedOfAll], error) {
	given, err := a.given(ctx, "", declared)
	if err != nil {
		return listing.Page[ListedOfAll]{}, err
	}
	found, err := a.list(ctx, "a.scope <> $1", "", given, q)
	return listing.Map(found, func(l Listed) ListedOfAll {
		all := ListedOfAll{Listed: l}
		if l.scope != "" {
			all.Scope = &l.scope
		}
		return all
	}), err
}

// given are the agents that a workspace has without making them, by strength and name. What it says in the place of one that is
// built in counts.
func (a *Agents) given(ctx context.Context, scope string, declared []svc.AgentInfo) (all []Listed, err error) {
	for _, d := range a.BuiltIn {
		shown, err := a.get(ctx, scope, d.Name, nil)
		if err != nil {
			return nil, err
		}
		shown.scope = ""
		all = append(all, shown.Listed)
	}
	for _, d := range declared {
		all = append(all, a.ofCode(d))
	}
	for _, f := range a.shelf.all() {
		all = append(all, f.shown().Listed)
	}
	taken := map[string]string{}
	for i, l := range all {
		if by := taken[l.Name]; by != "" {
			all[i].Shadowed = shadow(by)
		} else {
			taken[l.Name] = l.Source
		}
	}
	return all, nil
}

// shadow is why an agent is not the one that its name stands for.
func shadow(by string) string {
	return map[string]string{
		BuiltIn: "An agent of this name comes with the service.", Code: "An agent of this name is declared in code.",
		Project: "An agent of this name is in a project.", File: "An agent of this name is in a file.",
	}[by]
}

// list is a page of what is given and then of what is stored.
func (a *Agents) list(ctx context.Context, which, scope string, given []Listed, q listing.Query) (page listing.Page[Listed], err error) {
	// after is how many of those given have been shown; the rest is where the database goes on.
	var after int64
	at, whose, name := int64(math.MaxInt64), "", ""
	if err := q.After(&after, &at, &whose, &name); err != nil {
		return page, err
	}
	if err := q.Check(); err != nil {
		return page, err
	}
	part := strings.ToLower(q.Q)
	taken := map[string]string{}
	var all []Listed
	for i, l := range given {
		if taken[l.Name] == "" {
			taken[l.Name] = l.Source
		}
		if int64(i) >= after && strings.Contains(l.Name, part) {
			l.place = int64(i) + 1
			all = append(all, l)
		}
	}
	if room := q.Size() + 1 - len(all); room > 0 {
		stored, err := a.storedAfter(ctx, which, scope, part, at, whose, name, room)
		if err != nil {
			return page, err
		}
		for _, l := range stored {
			if taken[l.Name] == BuiltIn {
				continue // it is a part of that
			}
			l.Shadowed, l.place = shadow(taken[l.Name]), int64(len(given))
			all = append(all, l)
		}
	}
	return listing.Cut(all, q.Size(), func(l Listed) []any {
		if l.Source != Database {
			return []any{l.place, int64(math.MaxInt64), "", ""}
		}
		return []any{l.place, l.CreatedAt.UnixMilli(), l.scope, l.Name}
	}), nil
}

// storedAfter are agents of the database behind a place, without those that say something in the place of one that is built in.
func (a *Agents) storedAfter(ctx context.Context, which, scope, part string, at int64, whose, name string, most int) ([]Listed, error) {
	query, args := a.made(`SELECT a.scope, a.name, a.version, a.enabled, a.created_at, a.updated_at, v.settings
		FROM agents a JOIN agent_versions v ON v.scope = a.scope AND v.name = a.name AND v.version = a.version
		WHERE `+which+` AND a.deleted_at IS NULL AND (a.created_at, a.scope, a.name) < ($2, $3, $4) AND a.name LIKE $5 ESCAPE '\'`,
		scope, at, whose, name, sqldb.Contains(part), most)
	all, err := sqldb.ReadAll(ctx, a.DB, scanListed, query+" ORDER BY a.created_at DESC, a.scope DESC, a.name DESC LIMIT $6", args...)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return all, nil
}

// made narrows a question about agents down to those that are not built in.
func (a *Agents) made(query string, args ...any) (string, []any) {
	for _, d := range a.BuiltIn {
		args = append(args, d.Name)
		query += fmt.Sprintf(" AND a.name <> $%d", len(args))
	}
	return query, args
}

func scanListed(row sqldb.Row) (l Listed, err error) {
	d := Definition{}
	var enabled int64
	var settings string
	if err := row.Scan(&l.scope, &l.Name, &l.Version, &enabled, sqldb.Time(&l.CreatedAt.Time), sqldb.Time(&l.UpdatedAt.Time), &settings); err != nil {
		return l, err
	}
	err = d.read(settings, "")
	l.Settings, l.Enabled, l.Source = d.Settings, enabled != 0, Database
	return l, err
}

// Askable is an agent that others of its workspace may ask.
type Askable struct {
	Name         string
	Description  string
	OutputSchema json.RawMessage // nil: its answers are text
}

// Askable are agents that those of a workspace may ask, at most so many: what its names stand for now, those that it did not make first.
// One that is disabled is not among them.
func (a *Agents) Askable(ctx context.Context, scope string, declared []svc.AgentInfo, most int) (all []Askable, err error) {
	taken := map[string]bool{}
	add := func(name, description string, schema json.RawMessage) {
		if !taken[name] && len(all) < most {
			all = append(all, Askable{name, description, schema})
		}
		taken[name] = true
	}
	for _, d := range a.BuiltIn {
		add(d.Name, d.Description, d.OutputSchema)
	}
	for _, d := range declared {
		add(d.Name, d.Description, nil)
	}
	for _, f := range a.shelf.all() {
		add(f.Name, f.Description, f.OutputSchema)
	}
	stored, err := sqldb.ReadAll(ctx, a.DB, scanAskable, `SELECT a.name, v.settings, v.output_schema
		FROM agents a JOIN agent_versions v ON v.scope = a.scope AND v.name = a.name AND v.version = a.version
		WHERE a.scope = $1 AND a.deleted_at IS NULL AND a.enabled = 1 ORDER BY a.name LIMIT $2`, scope, most)
	if err != nil {
		return nil, fmt.Errorf("list agents to ask: %w", err)
	}
	for _, d := range stored {
		add(d.Name, d.Description, d.OutputSchema)
	}
	return all, nil
}

func scanAskable(row sqldb.Row) (d Definition, err error) {
	var settings, schema string
	if err := row.Scan(&d.Name, &settings, &schema); err != nil {
		return d, err
	}
	return d, d.read(settings, schema)
}

// home is the scope that keeps the versions of an agent: that of files is empty.
func home(scope, source string) string {
	if source == File {
		return ""
	}
	return scope
}

// Versions are those of an agent, the newest first; what is built in is the last. One of code has the one that it is.
func (a *Agents) Versions(ctx context.Context, scope, name, source string, q listing.Query) (page listing.Page[Made], err error) {
	before := int64(math.MaxInt64)
	if err := q.After(&before); err != nil {
		return page, err
	}
	if isDeclared(source) {
		if before > asBuilt {
			page.Items = []Made{asMade}
		}
		return page, nil
	}
	all, err := sqldb.ReadAll(ctx, a.DB, func(row sqldb.Row) (m Made, err error) {
		err = row.Scan(&m.Version, sqldb.Time(&m.CreatedAt.Time), &m.CreatedBy)
		return m, err
	}, "SELECT version, made_at, made_by FROM agent_versions WHERE scope = $1 AND name = $2 AND version < $3 ORDER BY version DESC LIMIT $4",
		home(scope, source), name, before, q.Size()+1)
	if err != nil {
		return page, fmt.Errorf("list versions: %w", err)
	}
	if source == BuiltIn && len(all) <= q.Size() && before > asBuilt {
		all = append(all, asMade)
	}
	return listing.Cut(all, q.Size(), func(m Made) []any { return []any{m.Version} }), nil
}

// asMade is the version of what comes with the service, built in or in code.
var asMade = Made{Version: asBuilt, CreatedBy: "system"}

// Past is a version of an agent of a workspace, whatever became of it since.
func (a *Agents) Past(ctx context.Context, scope, name string, number int64) (Past, error) {
	return a.kept(ctx, scope, name, number)
}

// PastOf is Past of an agent, wherever it comes from.
func (a *Agents) PastOf(ctx context.Context, scope string, of Agent, number int64) (Past, error) {
	if !isDeclared(of.Source) {
		return a.kept(ctx, home(scope, of.Source), of.Name, number)
	}
	if number != asBuilt {
		return Past{}, notFound()
	}
	return Past{Made: asMade, Definition: of.Definition()}, nil
}

// kept is a version that a scope keeps.
func (a *Agents) kept(ctx context.Context, scope, name string, number int64) (Past, error) {
	d, builtIn := a.builtIn(name)
	if builtIn && number == asBuilt {
		return Past{Made: asMade, Definition: d}, nil
	}
	if !isName(name) || number <= 0 {
		return Past{}, notFound()
	}
	var found bool
	past, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (past Past, err error) {
		past, found, err = findVersion(tx, scope, name, number)
		return past, err
	})
	if err == nil && !found {
		err = notFound()
	}
	if builtIn {
		past.Definition = overlaid(d, past.Definition)
	}
	return past, err
}

// Stored is how many bytes the agents of a workspace take, with every version.
func Stored(ctx context.Context, db *sqldb.DB, scope string) (int64, error) {
	return sqldb.Read(ctx, db, func(tx *sqldb.Tx) (int64, error) {
		return sqldb.Value[int64](tx, "measure agents", "SELECT CAST(COALESCE(SUM(bytes), 0) AS bigint) FROM agents WHERE scope = $1", scope)
	})
}

// Erase destroys all agents of a workspace, with every version.
func (a *Agents) Erase(ctx context.Context, scope string) error {
	const batch = 500
	for _, table := range []string{"agent_versions", "agents"} {
		_, err := sqldb.Drain(ctx, a.DB, batch, func(tx *sqldb.Tx) (int64, error) {
			return tx.Exec("DELETE FROM "+table+" WHERE scope = $1 AND name IN (SELECT name FROM "+table+" WHERE scope = $1 LIMIT $2)", scope, batch)
		})
		if err != nil {
			return fmt.Errorf("erase agents: %w", err)
		}
	}
	return nil
}
