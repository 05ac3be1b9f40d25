package svc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/workflow"
)

// RunFilter asks for a page of runs. Zero fields do not filter.
type RunFilter struct {
	Status   workflow.Status
	Workflow string
	Limit    int    // Defaults to 100, at most 1,000.
	Cursor   string // the NextCursor of the page before; one that cannot be read starts at the top
}

// RunList is a page of runs, newest first.
type RunList struct {
	Runs       []workflow.Pointer `json:"runs"`
	NextCursor string             `json:"nextCursor,omitempty"`
}

const defaultRuns, maxRuns = 100, 1000

// ListRuns lists the runs of the scope, newest first.
func (s Scoped) ListRuns(ctx context.Context, f RunFilter) (RunList, error) {
	found, err := s.FindRuns(ctx, f)
	list := RunList{Runs: make([]workflow.Pointer, 0, len(found.Runs)), NextCursor: found.NextCursor}
	for _, run := range found.Runs {
		list.Runs = append(list.Runs, run.Pointer())
	}
	return list, err
}

// AllRuns is a page of runs, newest first; each says whose it is and who started it.
type AllRuns struct {
	Runs       []workflow.Run // without input and result
	NextCursor string
}

// FindRuns is ListRuns with all that is known of a run without looking it up.
func (s Scoped) FindRuns(ctx context.Context, f RunFilter) (AllRuns, error) {
	return s.rt.findRuns(ctx, RunQuery{Scope: s.scope, Workflow: f.Workflow}, f)
}

// ListAllRuns lists the runs of all scopes, newest first. Of the filter, Workflow is not looked at.
func (rt *Runtime) ListAllRuns(ctx context.Context, f RunFilter) (AllRuns, error) {
	return rt.findRuns(ctx, RunQuery{All: true}, f)
}

func (rt *Runtime) findRuns(ctx context.Context, q RunQuery, f RunFilter) (AllRuns, error) {
	f.Limit = cmp.Or(max(f.Limit, 0), defaultRuns)
	q.Status, q.Before, q.Limit = f.Status, parseRunCursor(f.Cursor), min(f.Limit, maxRuns)
	page, err := rt.store.ListRuns(ctx, q)
	if err != nil {
		return AllRuns{}, fmt.Errorf("list runs: %w", err)
	}
	list := AllRuns{Runs: page.Runs}
	if page.More {
		list.NextCursor = runCursor(page.Runs[len(page.Runs)-1])
	}
	return list, nil
}

type cursor struct {
	StartedAt workflow.Time `json:"s"`
	RunID     string        `json:"r"`
}

func runCursor(last workflow.Run) string {
	data, _ := json.Marshal(cursor{workflow.Time(last.StartedAt), last.ID})
	return base64.RawURLEncoding.EncodeToString(data)
}

// parseRunCursor trusts the run id alone: it holds the time of its start.
func parseRunCursor(text string) string {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	var c cursor
	if json.Unmarshal(data, &c) != nil {
		return ""
	}
	return c.RunID
}

// GetRun finds a run of the scope.
func (s Scoped) GetRun(ctx context.Context, runID string) (workflow.Run, error) {
	run, err := s.rt.store.GetRun(ctx, s.scope, runID)
	return run, lookupFault("get run", runID, err)
}

// FindRun names the stream of a run of the scope, and how many bytes its input and outcome take, without reading them.
func (s Scoped) FindRun(ctx context.Context, runID string) (Stream, int64, error) {
	found, size, err := s.rt.store.FindRun(ctx, s.scope, runID)
	return found, size, lookupFault("find run", runID, err)
}

func lookupFault(doing, runID string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return fault.New(fault.RunNotFound, fmt.Sprintf("No run %q.", runID), "Check the id.")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Conversations pages through the scope's agent instances, last used first; an empty agent is every agent.
func (s Scoped) Conversations(ctx context.Context, agent string, before *Conversation, limit int) (ConversationPage, error) {
	limit = min(cmp.Or(max(limit, 0), defaultRuns), maxRuns)
	found, err := s.rt.store.Conversations(ctx, ConversationQuery{Scope: s.scope, Agent: agent, Before: before, Limit: limit})
	for i := range found.Conversations {
		c := &found.Conversations[i]
		c.Title, c.StartedBy = opening(c.First)
		c.First = nil
	}
	return found, err
}

// titleLength is how many characters of a message are the title of its conversation.
const titleLength = 100

// opening is what the beginning of a conversation's first input says: a title, and who sent it.
func opening(head []byte) (title, by string) {
	before, _, _ := bytes.Cut(head, bodyMark)
	for line := range strings.Lines(textBehind(head, bodyMark)) {
		if title = strings.TrimSpace(line); title != "" {
			break
		}
	}
	return shortened(title, titleLength), textBehind(before, byMark)
}

// AgentInfo is an agent as listed.
type AgentInfo struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Transports  Transports `json:"transports"`
	Defined     bool       `json:"defined"`
}

// Transports says how an agent is reached.
type Transports struct {
	HTTP bool `json:"http,omitempty"`
}

// ListAgents lists the agents that were declared in code, by name.
func (s Scoped) ListAgents() []AgentInfo {
	list := []AgentInfo{}
	for _, name := range slices.Sorted(maps.Keys(s.rt.agents)) {
		a := s.rt.agents[name]
		list = append(list, AgentInfo{
			Name: a.Name, Description: a.Description, Transports: Transports{HTTP: a.Route != nil}, Defined: true,
		})
	}
	return list
}
