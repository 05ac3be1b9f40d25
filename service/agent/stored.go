package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
)

// stored is an agent of the database, with its newest version.
type stored struct {
	Definition
	version   int64
	enabled   bool
	created   time.Time
	updated   time.Time
	deletedAt time.Time // zero: it is there
}

func (s stored) there() bool { return s.version > 0 && s.deletedAt.IsZero() }

// present is the version of an agent that is there, and 0 of one that is not.
func (s stored) present() int64 {
	if !s.there() {
		return 0
	}
	return s.version
}

// listed is the agent as lists show it.
func (s stored) listed(scope string) Listed {
	return Listed{
		Name: s.Name, Settings: s.Settings, Enabled: s.enabled, Source: Database, Version: s.version,
		CreatedAt: iso.At(s.created), UpdatedAt: iso.At(s.updated), scope: scope,
	}
}

func (s stored) shown(scope string) Agent {
	return Agent{Listed: s.listed(scope), Instructions: s.Instructions, OutputSchema: s.OutputSchema}
}

const selectStored = `SELECT a.name, a.version, a.enabled, a.created_at, a.updated_at, a.deleted_at, v.settings, v.instructions, v.output_schema
	FROM agents a JOIN agent_versions v ON v.scope = a.scope AND v.name = a.name AND v.version = a.version`

func scanStored(row sqldb.Row) (s stored, err error) {
	var enabled int64
	var settings, schema string
	err = row.Scan(&s.Name, &s.version, &enabled, sqldb.Time(&s.created), sqldb.Time(&s.updated), sqldb.Time(&s.deletedAt), &settings, &s.Instructions, &schema)
	if err != nil {
		return s, err
	}
	s.enabled = enabled != 0
	return s, s.read(settings, schema)
}

// read takes over what a version keeps as JSON.
func (d *Definition) read(settings, schema string) error {
	if err := json.Unmarshal([]byte(settings), &d.Settings); err != nil {
		return fmt.Errorf("read settings of agent %s: %w", d.Name, err)
	}
	if d.OutputSchema = nil; schema != "" {
		d.OutputSchema = json.RawMessage(schema)
	}
	d.Settings = d.plain().Settings
	return nil
}

// find is the row of a name, deleted or not; version is 0 where there is none.
func find(tx *sqldb.Tx, scope, name string) (stored, error) {
	s, _, err := sqldb.First(tx, "find agent", scanStored, selectStored+" WHERE a.scope = $1 AND a.name = $2", scope, name)
	return s, err
}

// current are the agents that a workspace made, as they are now, without their texts.
func current(tx *sqldb.Tx, scope string) ([]Definition, error) {
	return sqldb.Collect(tx, func(row sqldb.Row) (one Definition, err error) {
		var settings string
		if err := row.Scan(&one.Name, &settings); err != nil {
			return one, err
		}
		return one, one.read(settings, "")
	}, `SELECT a.name, v.settings FROM agents a JOIN agent_versions v ON v.scope = a.scope AND v.name = a.name AND v.version = a.version
		WHERE a.scope = $1 AND a.deleted_at IS NULL`, scope)
}

// Made is when a version was made, and by whom.
type Made struct {
	Version   int64      `json:"version"`
	CreatedAt iso.Moment `json:"createdAt" null:"it comes with the service"`
	CreatedBy string     `json:"createdBy"`
}

// Past is a version with all that it says.
type Past struct {
	Made
	Definition
}

// addVersion keeps what an agent is from now on, and says how many bytes that takes.
func addVersion(tx *sqldb.Tx, scope string, version int64, d Definition, at time.Time, by string) (int64, error) {
	settings, err := json.Marshal(d.Settings)
	if err != nil {
		return 0, err
	}
	return int64(len(settings) + len(d.Instructions) + len(d.OutputSchema)), tx.Do("add version", `INSERT INTO agent_versions (scope, name, version, settings, instructions, output_schema, made_at, made_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, scope, d.Name, version, string(settings), d.Instructions, string(d.OutputSchema), at.UnixMilli(), by)
}

const selectPast = "SELECT name, version, settings, instructions, output_schema, made_at, made_by FROM agent_versions"

func scanPast(row sqldb.Row) (p Past, err error) {
	var settings, schema string
	err = row.Scan(&p.Name, &p.Version, &settings, &p.Instructions, &schema, sqldb.Time(&p.CreatedAt.Time), &p.CreatedBy)
	if err != nil {
		return p, err
	}
	return p, p.read(settings, schema)
}

// lastFile is the newest version of a file, which may be gone.
func lastFile(tx *sqldb.Tx, name string) (Past, bool, error) {
	return sqldb.First(tx, "find version", scanPast, selectPast+" WHERE scope = '' AND name = $1 ORDER BY version DESC LIMIT 1", name)
}

// findVersion is a version of an agent, whatever became of it since.
func findVersion(tx *sqldb.Tx, scope, name string, version int64) (Past, bool, error) {
	return sqldb.First(tx, "find version", scanPast, selectPast+" WHERE scope = $1 AND name = $2 AND version = $3", scope, name, version)
}
