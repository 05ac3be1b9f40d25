package engine

import (
	"net/http"
	"strconv"

	"svc.dev/svc"
	"svc.dev/svc/internal/listing"
)

// agents are those of a workspace, those that it did not make first.
func (e *Engine) agents(w http.ResponseWriter, r *http.Request) error {
	q, err := pageOf(r)
	if err != nil {
		return err
	}
	found, err := e.Agents.List(r.Context(), claims(r).Scope, e.declared(), q)
	return listFound(w, r, found, err)
}

// allAgents are those of all workspaces. Those that every workspace has are listed once.
func (e *Engine) allAgents(w http.ResponseWriter, r *http.Request) error {
	q, err := pageOf(r)
	if err != nil {
		return err
	}
	found, err := e.Agents.All(r.Context(), e.declared(), q)
	return listFound(w, r, found, err)
}

// agent is the one that a name stands for.
func (e *Engine) agent(w http.ResponseWriter, r *http.Request) error {
	found, err := e.Agents.Get(r.Context(), claims(r).Scope, r.URL.Query().Get("name"), e.declared())
	if err != nil {
		return err
	}
	w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(found.Version, 10)))
	return write(w, http.StatusOK, found)
}

// uses are which agents of a workspace name what.
func (e *Engine) uses(w http.ResponseWriter, r *http.Request) error {
	found, err := e.Agents.Uses(r.Context(), claims(r).Scope, e.declared())
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, found)
}

// declared are the agents of code.
func (e *Engine) declared() []svc.AgentInfo { return e.Runtime.ListAgents() }

// pageOf is which part of a list is asked for.
func pageOf(r *http.Request) (listing.Query, error) {
	n, err := limit(r)
	return listing.Query{Cursor: r.URL.Query().Get("cursor"), Limit: n, Q: r.URL.Query().Get("q")}, err
}

func listFound[T any](w http.ResponseWriter, r *http.Request, found listing.Page[T], err error) error {
	if err != nil {
		return err
	}
	if found.Items == nil {
		found.Items = []T{}
	}
	return list(w, r, page{Items: found.Items, Next: found.Next})
}
