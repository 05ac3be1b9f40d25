package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the drivers by which a crowd is written
	_ "modernc.org/sqlite"

	"svc.dev/svc/service"
	builtin "svc.dev/svc/service/engine"
)

// storedAgent is like the built-in one in all but where it is kept.
const storedAgent = "stored"

// How much more an agent of the database may cost than one from code, and how much a crowd of others may change.
const (
	storedCost = 1.1
	crowdCost  = 1.1
)

const perPrompt = " CPU each"

// crowd is how many agents others have, in a tenth as many workspaces.
const crowd = 10_000

// measureStored prompts the product's built-in agent and one of the database in turns, with a key through the gateway, and that one
// again when many others are stored.
func measureStored(ctx context.Context, b *Bench, db Database) error {
	turn, turns := pick(b, time.Second, 300*time.Millisecond), pick(b, 6, 3)
	for _, writers := range []int{1, 16} {
		talk := Talk{Writers: writers, Followed: true}
		err := b.withServer(ctx, db, Setting{Engine: productName}, func(s *Server) error {
			// What comes first warms everything up, and is not counted.
			if _, err := inTurns(ctx, s, talk, turn, 1, builtin.Central, storedAgent); err != nil {
				return err
			}
			cost, err := inTurns(ctx, s, talk, turn, turns, builtin.Central, storedAgent)
			if err != nil {
				return err
			}
			b.Report.compare(fmt.Sprintf("prompts of 20 deltas to an agent of the database, through the gateway with a key, %s, %s", db.Name, talk), perPrompt,
				cost[storedAgent], cost[builtin.Central], "one from code", storedCost)
			if err := s.control(ctx, "/crowd", nil); err != nil {
				return err
			}
			beside, err := inTurns(ctx, s, talk, turn, turns, storedAgent)
			if err == nil {
				b.Report.compare(fmt.Sprintf("the same beside %d others of %d workspaces, %s, %s", crowd, crowd/10, db.Name, talk), perPrompt,
					beside[storedAgent], cost[storedAgent], "before", crowdCost)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inTurns is what a prompt to each of these agents costs.
func inTurns(ctx context.Context, s *Server, talk Talk, turn time.Duration, turns int, agents ...string) (map[string]time.Duration, error) {
	spent, n := map[string]time.Duration{}, map[string]int{}
	for range turns {
		for _, agent := range agents {
			s.Door.Agent = agent
			done, err := talk.run(ctx, s, turn)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", agent, err)
			}
			spent[agent] += done.CPU + done.Database
			n[agent] += done.N
		}
	}
	for agent := range spent {
		spent[agent] /= time.Duration(max(1, n[agent]))
	}
	return spent, nil
}

// compare adds a row about what may cost so many times as much as another.
func (r *Report) compare(measurement, unit string, cost, other time.Duration, what string, most float64) {
	ratio := float64(cost) / float64(other)
	r.add(Row{
		Measurement: measurement,
		Figure:      fmt.Sprintf("%s%s, ratio %.2f", ms(cost), unit, ratio),
		Beside:      what + " " + ms(other),
		Target:      fmt.Sprintf("ratio ≤ %.2f", most), Met: met(ratio <= most),
	})
}

// measureStoredStart restarts the product where many agents are stored, and where none is.
func measureStoredStart(ctx context.Context, b *Bench, _ Database) error {
	binary, err := b.build(ctx)
	if err != nil {
		return err
	}
	few, many := filepath.Join(b.Folder, "few"), filepath.Join(b.Folder, "many")
	for _, folder := range []string{few, many} {
		if _, err := startOnce(ctx, binary, folder, 0); err != nil {
			return err
		}
	}
	if err := addCrowd(ctx, "sqlite:"+filepath.Join(many, "svc.db")); err != nil {
		return err
	}
	took := map[string][]time.Duration{}
	for range pick(b, 9, 3) {
		for _, folder := range []string{few, many} {
			one, err := startOnce(ctx, binary, folder, 0)
			if err != nil {
				return err
			}
			took[folder] = append(took[folder], one.Ready)
		}
	}
	b.Report.compare(fmt.Sprintf("start of svc serve to /readyz with %d agents of %d workspaces, SQLite", crowd, crowd/10), "",
		sorted(took[many]).p50(), sorted(took[few]).p50(), "without", crowdCost)
	return nil
}

// storeAgent keeps a copy of the built-in agent in the workspace of whoever has the cookie.
func storeAgent(ctx context.Context, s service.Serving, workspace, cookie string) error {
	d := builtin.BuiltIn()[0]
	_, err := post(ctx, s, s.Agents, "/api/workspaces/"+workspace+"/agents", cookie, map[string]any{
		"name": storedAgent, "description": d.Description, "instructions": d.Instructions, "tools": d.Tools, "exposed": true,
	}, nil)
	return err
}

// addsCrowd answers when the others' agents are stored.
func addsCrowd(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { answer(w, nil, addCrowd(r.Context(), address)) }
}

// addCrowd writes the agents of others, each with one version.
func addCrowd(ctx context.Context, address string) error {
	driver, source := "pgx", address
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, source = "sqlite", path+"?_pragma=busy_timeout(20000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	numbers := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", crowd-1)
	_, agents := db.ExecContext(ctx, `INSERT INTO agents (scope, name, version, enabled, created_at, updated_at) `+numbers+
		`SELECT 'crowd/' || (i / 10), 'agent-' || (i % 10), 1, 1, i, i FROM n`)
	_, versions := db.ExecContext(ctx, `INSERT INTO agent_versions (scope, name, version, settings, instructions, made_at, made_by) `+numbers+
		`SELECT 'crowd/' || (i / 10), 'agent-' || (i % 10), 1, '{"enabled":true}', 'Answer briefly.', i, 'acc_crowd' FROM n`)
	return errors.Join(agents, versions, db.Close())
}
