// Package agent is the agents that people write: in the database, by the product, and in files, by an operator, in one registry
// with one shape. Every save makes a version, which never changes: work that has begun goes on by the version that it began with, on
// any node, whatever is saved or deleted meanwhile.
//
// A name may be taken more than once. What comes with the service wins, then what was declared in code, then a file, then the
// database; the one that lost is listed with the reason.
package agent

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("agent", migrations)

// Where agents come from, the stronger first. A workspace changes only those of the database, and of those built in what they say
// and by which model.
const (
	BuiltIn  = "built-in"
	Code     = "code"
	Project  = "project"
	File     = "file"
	Database = "database"
)

// ReadOnly is the fault of a change of an agent that the workspace does not keep.
const ReadOnly = "read_only"

// Config is what agents need. DB is required, and Audit for all that changes something.
type Config struct {
	DB    *sqldb.DB
	Audit *audit.Log
	// BuiltIn are the agents of every workspace. Their instructions and model may be changed there. Defaults to none.
	BuiltIn []Definition
	// Folder holds an agent in each file <name>.md, for every workspace. Defaults to none.
	Folder string
	// DefaultModel is the model of an agent that names none. Defaults to none: such an agent cannot be prompted.
	DefaultModel func(ctx context.Context, scope string) (string, error)
	// Models refuses a model that a workspace does not have, by a fault. Defaults to taking every name.
	Models func(ctx context.Context, scope, name string) error
	// Tools, Projects, Connectors and MCPs are what an agent of a workspace may be given. Default to none.
	Tools, Projects, Connectors, MCPs Known
	// Build makes the tools that a definition names. Defaults to none.
	Build func(ctx context.Context, scope string, d Definition) ([]svc.Tool, error)
	// Admit refuses to keep more in a workspace that is full. Defaults to no such question.
	Admit func(ctx context.Context, scope string) error
	// ByKey reports whether it is an API key that asks, which reaches exposed agents alone. Defaults to never.
	ByKey func(ctx context.Context) bool
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears of files that are no agents. Defaults to slog.Default().
	Log *slog.Logger
}

// Agents is the agents of a service, safe for concurrent use. Several nodes have one each.
type Agents struct {
	Config
	recent *recent
	shelf  shelf

	inProject func(name string) bool // nil: what was declared is code
}

// New makes the agents of a database whose tables stand.
func New(c Config) (*Agents, error) {
	if c.DB == nil {
		return nil, errors.New("agents need a database")
	}
	c.Now = iso.Clock(c.Now)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	for i := range c.BuiltIn {
		c.BuiltIn[i] = c.BuiltIn[i].plain()
	}
	return &Agents{Config: c, recent: newRecent(), shelf: shelf{files: map[string]*file{}, seen: map[string]stamp{}, told: map[string]string{}, circles: map[string]bool{}}}, nil
}

// KnowProject tells agents that were declared by the operator's project from those of code, before anybody asks for any.
func (a *Agents) KnowProject(has func(name string) bool) { a.inProject = has }

// asBuilt is the version of an agent that is built in, as it came: what a workspace says in its place are later ones.
const asBuilt = 1

// IsBuiltIn reports whether every workspace has an agent of a name that code may not declare: it would be listed as built in, and the
// code's would be prompted.
func (a *Agents) IsBuiltIn(name string) bool {
	_, is := a.builtIn(name)
	return is
}

// builtIn finds an agent of every workspace.
func (a *Agents) builtIn(name string) (Definition, bool) {
	i := slices.IndexFunc(a.BuiltIn, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return Definition{}, false
	}
	return a.BuiltIn[i], true
}

// Listed is an agent without its texts.
type Listed struct {
	Name string `json:"name"`
	Settings
	Enabled bool   `json:"enabled"`
	Source  string `json:"source" enum:"built-in code project file database"`
	// Shadowed says why another agent of this name is used in its place.
	Shadowed string `json:"shadowed,omitzero"`
	// UsedBy are the agents of the workspace that name it as one whom they ask. Where all workspaces are listed it is not said.
	UsedBy    []string   `json:"usedBy,omitzero"`
	Version   int64      `json:"version"`
	CreatedAt iso.Moment `json:"createdAt" null:"it comes with the service"`
	UpdatedAt iso.Moment `json:"updatedAt" null:"it comes with the service"`

	scope string
	place int64 // in a list: how many of those that were not made in the workspace stand before it, and it
}

// Agent is an agent as it is now.
type Agent struct {
	Listed
	Instructions string          `json:"instructions"`
	OutputSchema json.RawMessage `json:"outputSchema" type:"object" null:"its answers are text"`
}

// Definition is the agent as it was written.
func (a Agent) Definition() Definition {
	return Definition{Name: a.Name, Settings: a.Settings, Instructions: a.Instructions, OutputSchema: a.OutputSchema}
}

// notFound refuses what is not there.
func notFound() error { return fault.New(fault.ItemNotFound, "There is no such agent.", "") }

// readOnly refuses to change what does not belong to the workspace.
func readOnly(source string) error {
	details := map[string]string{
		BuiltIn: "Only its instructions and its model can be changed.", Code: "Change the program that declares it.",
		Project: "Change the project that declares it.", File: "Change its file.",
	}[source]
	return fault.New(ReadOnly, "This agent cannot be changed here.", details).With("source", source)
}

// CheckWritable refuses to change an agent that wins over the database.
func CheckWritable(source string) error {
	if isDeclared(source) || source == File {
		return readOnly(source)
	}
	return nil
}

func event(by audit.Actor, scope, action, name string, changes ...string) audit.Event {
	return audit.Event{Actor: by, Action: "agent." + action, Target: audit.Target{Kind: "agent", ID: name}, Scope: scope, Changes: changes}
}
