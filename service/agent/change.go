package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

// checkVersion refuses another version than the present one; 0 is any.
func (s stored) checkVersion(given int64) error {
	if given == 0 || given == s.version {
		return nil
	}
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", s.version)
}

// Create makes an agent. A name that was deleted goes on counting its versions.
func (a *Agents) Create(ctx context.Context, by audit.Actor, scope string, draft Draft) (Agent, error) {
	d := draft.definition()
	if err := a.check(ctx, scope, d); err != nil {
		return Agent{}, err
	}
	if _, taken := a.builtIn(d.Name); taken {
		return Agent{}, NameTaken()
	}
	return a.write(ctx, scope, d.Name, func(tx *sqldb.Tx, s stored) (stored, error) {
		if s.there() {
			return s, NameTaken()
		}
		if err := a.refuseTooMany(tx, scope); err != nil {
			return s, err
		}
		return a.save(ctx, tx, by, scope, s, d, "created")
	})
}

// Patch makes a new version of an agent whose version is the one given; 0 is any. What changes nothing makes none.
func (a *Agents) Patch(ctx context.Context, by audit.Actor, scope, name string, version int64, e Edit) (Agent, error) {
	before, err := a.present(ctx, scope, name)
	if err != nil {
		return Agent{}, err
	}
	after := e.of(before)
	if err := a.checkOwn(ctx, scope, after); err != nil {
		return Agent{}, err
	}
	return a.write(ctx, scope, name, func(tx *sqldb.Tx, s stored) (stored, error) {
		now, err := a.now(s, name)
		if err != nil {
			return s, err
		}
		// What was checked is what is saved: somebody who changed another field meanwhile is not undone, and is looked at again.
		if len(changed(before, now)) > 0 {
			return s, cmp.Or(s.checkVersion(version), stale(s.version))
		}
		return a.replace(ctx, tx, by, scope, name, s, version, after, "changed")
	})
}

// stale refuses a change whose ground has moved.
func stale(version int64) error {
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", version)
}

// Restore makes a version of what an earlier one was; the first of one that is built in is what it came as.
func (a *Agents) Restore(ctx context.Context, by audit.Actor, scope, name string, number, version int64) (Agent, error) {
	past, err := a.Past(ctx, scope, name, number)
	if err != nil {
		return Agent{}, err
	}
	if err := a.checkOwn(ctx, scope, past.Definition); err != nil {
		return Agent{}, err
	}
	return a.write(ctx, scope, name, func(tx *sqldb.Tx, s stored) (stored, error) {
		return a.replace(ctx, tx, by, scope, name, s, version, past.Definition, "restored")
	})
}

// replace saves what an agent is from now on, unless it is that already.
func (a *Agents) replace(ctx context.Context, tx *sqldb.Tx, by audit.Actor, scope, name string, s stored, version int64, after Definition, action string) (stored, error) {
	before, err := a.now(s, name)
	if err == nil {
		err = s.checkVersion(version)
	}
	if err != nil {
		return s, err
	}
	names := changed(before, after)
	if len(names) == 0 {
		s.Definition = before
		return s, nil
	}
	if _, is := a.builtIn(name); is && slices.ContainsFunc(names, func(f string) bool { return f != "instructions" && f != "model" }) {
		return s, readOnly(BuiltIn)
	}
	return a.save(ctx, tx, by, scope, s, after, action, names...)
}

// Import saves what Parse read of a file: a new agent, or a new version of one that is there. holds judges the version that is there, 0 where
// none is; nil takes any.
func (a *Agents) Import(ctx context.Context, by audit.Actor, scope string, holds func(version int64) bool, d Definition) (Agent, error) {
	if err := a.checkOwn(ctx, scope, d); err != nil {
		return Agent{}, err
	}
	_, builtIn := a.builtIn(d.Name)
	return a.write(ctx, scope, d.Name, func(tx *sqldb.Tx, s stored) (stored, error) {
		if holds != nil && !holds(s.present()) {
			return s, stale(s.present())
		}
		if s.there() || builtIn {
			return a.replace(ctx, tx, by, scope, d.Name, s, 0, d, "changed")
		}
		if err := a.refuseTooMany(tx, scope); err != nil {
			return s, err
		}
		return a.save(ctx, tx, by, scope, s, d, "created")
	})
}

// Switch enables or disables an agent whose version is the one given; 0 is any. It makes no version. One that is disabled takes no
// prompts; what was admitted goes on.
func (a *Agents) Switch(ctx context.Context, by audit.Actor, scope, name string, version int64, on bool) (Agent, error) {
	return a.write(ctx, scope, name, func(tx *sqldb.Tx, s stored) (stored, error) {
		if _, is := a.builtIn(name); is {
			return s, readOnly(BuiltIn)
		}
		if !s.there() {
			return s, notFound()
		}
		if err := s.checkVersion(version); err != nil || s.enabled == on {
			return s, err
		}
		s.enabled, s.updated = on, a.Now()
		action := map[bool]string{true: "enabled", false: "disabled"}[on]
		err := tx.Do("switch agent", "UPDATE agents SET enabled = $3, updated_at = $4 WHERE scope = $1 AND name = $2", scope, name, sqldb.Bit(on), s.updated.UnixMilli())
		return s, cmp.Or(err, a.Audit.Append(ctx, tx, event(by, scope, action, name)))
	})
}

// Delete takes an agent away. Its versions stay for the work that has begun, and its conversations can be read.
func (a *Agents) Delete(ctx context.Context, by audit.Actor, scope, name string, version int64) error {
	_, err := a.write(ctx, scope, name, func(tx *sqldb.Tx, s stored) (stored, error) {
		if _, is := a.builtIn(name); is {
			return s, readOnly(BuiltIn)
		}
		if !s.there() {
			return s, notFound()
		}
		if err := s.checkVersion(version); err != nil {
			return s, err
		}
		err := tx.Do("delete agent", "UPDATE agents SET deleted_at = $3, updated_at = $3 WHERE scope = $1 AND name = $2", scope, name, a.Now().UnixMilli())
		return s, cmp.Or(err, a.Audit.Append(ctx, tx, event(by, scope, "deleted", name)))
	})
	return err
}

// write changes the agent of a name, and lets this node forget what it knew of it.
func (a *Agents) write(ctx context.Context, scope, name string, change func(*sqldb.Tx, stored) (stored, error)) (Agent, error) {
	if !isName(name) {
		return Agent{}, notFound()
	}
	s, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (stored, error) {
		// One writes to a workspace at a time: a name is taken once, and how many there are and which ask each other is known.
		if err := tx.Alone("agents of " + scope); err != nil {
			return stored{}, err
		}
		s, err := find(tx, scope, name)
		if err != nil {
			return s, err
		}
		if d, is := a.builtIn(name); is && s.version == 0 {
			s = stored{Definition: d, version: asBuilt, enabled: true}
		}
		return change(tx, s)
	})
	if err != nil {
		return Agent{}, err
	}
	a.recent.forget(scope, name)
	return a.told(s.shown(scope)), nil
}

// save keeps what an agent is from now on, as its newest version.
func (a *Agents) save(ctx context.Context, tx *sqldb.Tx, by audit.Actor, scope string, s stored, d Definition, action string, changes ...string) (stored, error) {
	if err := a.refuseCycle(tx, scope, d); err != nil {
		return s, err
	}
	there, now := s.there(), a.Now()
	s.Definition, s.version, s.updated = d, s.version+1, now
	if !there {
		s.enabled = true
	}
	if !there || s.created.IsZero() {
		s.created = now
	}
	// The id is no name: an account that is erased leaves none here.
	bytes, err := addVersion(tx, scope, s.version, d, now, cmp.Or(by.ID, by.Kind))
	if err != nil {
		return s, err
	}
	err = tx.Do("save agent", `INSERT INTO agents (scope, name, version, enabled, created_at, updated_at, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (scope, name) DO UPDATE SET version = excluded.version, enabled = excluded.enabled, created_at = excluded.created_at,
		updated_at = excluded.updated_at, deleted_at = NULL, bytes = agents.bytes + excluded.bytes`,
		scope, d.Name, s.version, sqldb.Bit(s.enabled), s.created.UnixMilli(), now.UnixMilli(), bytes)
	return s, cmp.Or(err, a.Audit.Append(ctx, tx, event(by, scope, action, d.Name, changes...)))
}

// now is what an agent is in a transaction: what is built in is there without being stored.
func (a *Agents) now(s stored, name string) (Definition, error) {
	d, is := a.builtIn(name)
	switch {
	case is && s.there():
		return overlaid(d, s.Definition), nil
	case is:
		return d, nil
	case s.there():
		return s.Definition, nil
	}
	return Definition{}, notFound()
}

// overlaid is what is built in with what a workspace says in its place.
func overlaid(d, own Definition) Definition {
	d.Instructions, d.Model = own.Instructions, own.Model
	return d
}

// checkOwn checks what a workspace may say of an agent: the rest of one that is built in is the service's own.
func (a *Agents) checkOwn(ctx context.Context, scope string, d Definition) error {
	if _, is := a.builtIn(d.Name); is {
		d = Definition{Name: d.Name, Instructions: d.Instructions, Settings: Settings{Model: d.Model}}
	}
	return a.check(ctx, scope, d)
}

// present is what an agent is now.
func (a *Agents) present(ctx context.Context, scope, name string) (Definition, error) {
	if !isName(name) {
		return Definition{}, notFound()
	}
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (Definition, error) {
		s, err := find(tx, scope, name)
		if err != nil {
			return Definition{}, err
		}
		return a.now(s, name)
	})
}

// NameTaken refuses a name that another agent has.
func NameTaken() error {
	return fault.New(fault.NameTaken, "This name is taken.", "Choose another name.")
}

// refuseTooMany counts the agents that a workspace made: what it says in the place of one that is built in is none.
func (a *Agents) refuseTooMany(tx *sqldb.Tx, scope string) error {
	query, args := a.made("SELECT count(*) FROM agents a WHERE a.scope = $1 AND a.deleted_at IS NULL", scope)
	n, err := sqldb.Value[int64](tx, "count agents", query, args...)
	if err == nil && n >= maxAgents {
		err = fault.Invalid("There are at most %d agents in a workspace.", maxAgents)
	}
	return err
}

// CheckAsks refuses tools by which an agent would be asked by those that it asks. given are the agents that the workspace did not
// make, as another process knows them: this one may have read no files.
func (a *Agents) CheckAsks(ctx context.Context, scope, name string, tools []string, given []Listed) error {
	if len(tools) > maxList {
		return nil // it is refused for that
	}
	_, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (struct{}, error) {
		return struct{}{}, a.refuseCycle(tx, scope, Definition{Name: name, Settings: Settings{Tools: tools}}, given...)
	})
	return err
}

// refuseCycle refuses agents that would ask each other for ever, those of files and those built in among them.
func (a *Agents) refuseCycle(tx *sqldb.Tx, scope string, d Definition, given ...Listed) error {
	if len(d.asks()) == 0 {
		return nil
	}
	all, err := current(tx, scope)
	if err != nil {
		return err
	}
	asks := map[string][]string{}
	for _, one := range all {
		asks[one.Name] = one.asks()
	}
	for _, f := range a.shelf.all() {
		asks[f.Name] = f.asks()
	}
	for _, one := range a.BuiltIn {
		asks[one.Name] = one.asks()
	}
	for _, one := range given {
		if one.Shadowed == "" {
			asks[one.Name] = one.asks()
		}
	}
	asks[d.Name] = d.asks()
	return d.cycle(asks)
}

// cycle refuses a definition that would be asked by those that it asks. Only an ask_agent that names its agent is looked at; one
// that may ask any ends by its depth.
func (d Definition) cycle(asks map[string][]string) error {
	var p problems
	for i, entry := range d.Tools {
		tool, first := Tool(entry)
		if tool != askAgent || first == "" {
			continue
		}
		if way := back(asks, d.Name, first); way != nil {
			p.add(place("tools", i), strictjson.Cycle, "these agents would ask each other for ever: "+strings.Join(append([]string{d.Name}, way...), ", ")+".")
		}
	}
	return p.refusal()
}

// back is a way by which agents ask each other, from one to a name; nil: there is none.
func back(asks map[string][]string, to, from string) []string {
	seen := map[string]bool{}
	var walk func(at string) []string
	walk = func(at string) []string {
		if at == to {
			return []string{at}
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		for _, next := range asks[at] {
			if way := walk(next); way != nil {
				return append([]string{at}, way...)
			}
		}
		return nil
	}
	return walk(from)
}
