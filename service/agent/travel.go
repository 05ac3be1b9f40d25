package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"svc.dev/svc/internal/jsonl"
	"svc.dev/svc/internal/sqldb"
)

// traveller is a line of agents that travel to another service: an agent, or a version of one.
type traveller struct {
	Agent   *agentLine   `json:"agent,omitempty"`
	Version *versionLine `json:"version,omitempty"`
}

// agentLine is a row of agents.
type agentLine struct {
	Name      string `json:"name"`
	Version   int64  `json:"version"`
	Enabled   int64  `json:"enabled"`
	CreatedAt int64  `json:"createdAt"`
	UpdatedAt int64  `json:"updatedAt"`
	DeletedAt *int64 `json:"deletedAt,omitempty"`
	Bytes     int64  `json:"bytes"`
}

// versionLine is a row of agent_versions.
type versionLine struct {
	Name         string `json:"name"`
	Version      int64  `json:"version"`
	Settings     string `json:"settings"`
	Instructions string `json:"instructions"`
	OutputSchema string `json:"outputSchema,omitempty"`
	MadeAt       int64  `json:"madeAt"`
	MadeBy       string `json:"madeBy"`
}

// WriteAll writes all agents that a workspace ever kept, with every version, as lines of JSON.
func WriteAll(tx *sqldb.Tx, scope string, to *json.Encoder) error {
	err := writeRows(tx, to, func(row sqldb.Row) (traveller, error) {
		a := &agentLine{}
		return traveller{Agent: a}, row.Scan(&a.Name, &a.Version, &a.Enabled, &a.CreatedAt, &a.UpdatedAt, &a.DeletedAt, &a.Bytes)
	}, "SELECT name, version, enabled, created_at, updated_at, deleted_at, bytes FROM agents WHERE scope = $1 ORDER BY name", scope)
	if err != nil {
		return fmt.Errorf("write agents: %w", err)
	}
	err = writeRows(tx, to, func(row sqldb.Row) (traveller, error) {
		v := &versionLine{}
		return traveller{Version: v}, row.Scan(&v.Name, &v.Version, &v.Settings, &v.Instructions, &v.OutputSchema, &v.MadeAt, &v.MadeBy)
	}, "SELECT name, version, settings, instructions, output_schema, made_at, made_by FROM agent_versions WHERE scope = $1 ORDER BY name, version", scope)
	if err != nil {
		return fmt.Errorf("write versions of agents: %w", err)
	}
	return nil
}

func writeRows(tx *sqldb.Tx, to *json.Encoder, read func(sqldb.Row) (traveller, error), query string, args ...any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		line, err := read(rows)
		if err != nil {
			return err
		}
		if err := to.Encode(line); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ReadAll keeps agents that WriteAll wrote in a workspace that has none, and says how many are not deleted.
func ReadAll(ctx context.Context, db *sqldb.DB, scope string, from io.Reader) (agents int64, err error) {
	err = jsonl.Each(from, func(line traveller, _ int64) error {
		if err := line.check(); err != nil {
			return err
		}
		if line.Agent != nil && line.Agent.DeletedAt == nil {
			agents++
		}
		return db.Write(ctx, func(tx *sqldb.Tx) error { return line.insert(tx, scope) })
	})
	if err != nil {
		return agents, fmt.Errorf("read agents: %w", err)
	}
	return agents, nil
}

// check refuses what no service would have kept.
func (t traveller) check() error {
	switch {
	case t.Agent != nil && isName(t.Agent.Name) && t.Agent.Version > 0 && t.Agent.Bytes >= 0 && t.Agent.Bytes < 1<<50:
		return nil
	case t.Version != nil && isName(t.Version.Name) && t.Version.Version > 0 && sqldb.Storable(t.Version.Instructions, t.Version.OutputSchema, t.Version.MadeBy):
		var d Definition
		return d.read(t.Version.Settings, t.Version.OutputSchema)
	}
	return errors.New("a line is of no agent that this svc could have kept")
}

func (t traveller) insert(tx *sqldb.Tx, scope string) error {
	if a := t.Agent; a != nil {
		return tx.Do("import agent", `INSERT INTO agents (scope, name, version, enabled, created_at, updated_at, deleted_at, bytes)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, scope, a.Name, a.Version, a.Enabled, a.CreatedAt, a.UpdatedAt, a.DeletedAt, a.Bytes)
	}
	v := t.Version
	return tx.Do("import version of an agent", `INSERT INTO agent_versions (scope, name, version, settings, instructions, output_schema, made_at, made_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, scope, v.Name, v.Version, v.Settings, v.Instructions, v.OutputSchema, v.MadeAt, v.MadeBy)
}
