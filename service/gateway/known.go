package gateway

import (
	"cmp"
	"log/slog"
	"strings"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
)

// known is what a line of the log says of a request: its id, and where it is known whose work it is about and who asks. It is
// names and ids alone.
func (x *exchange) known() []slog.Attr {
	address := x.workspace()
	owner, actor := x.told.Account, cmp.Or(x.told.Actor, audit.From(x.Ctx()).Actor.Username)
	if at, err := scope.Parse(address); err == nil {
		owner = at.Username
	}
	all := []slog.Attr{slog.String("request_id", x.ID)}
	for _, field := range [][2]string{{"scope", address}, {"account", cmp.Or(owner, actor)}, {"actor", actor}, {"stream", x.at.stream()}, {"run_id", x.runID()}} {
		if field[1] != "" {
			all = append(all, slog.String(field[0], field[1]))
		}
	}
	return all
}

// workspace is the scope that a request is about; what cannot be one is none.
func (x *exchange) workspace() string {
	address := cmp.Or(x.told.Scope, x.at.scope)
	if address == "" && strings.HasPrefix(x.route, "/api/workspaces/") {
		address = x.address()
	}
	if _, err := scope.Parse(address); err != nil && address != scope.Admin {
		return ""
	}
	return address
}

// stream is the conversation that a path below {base_url} names.
func (at place) stream() string {
	parts := strings.Split(at.path, "/")
	if len(parts) < 4 || parts[1] != "agents" {
		return ""
	}
	return strings.Join(parts[1:4], "/")
}

// runID is the run that a path names; what cannot be an id of ours is none.
func (x *exchange) runID() string {
	id := cmp.Or(x.params["run"], strings.TrimPrefix(x.at.path, "/runs/"))
	if !strings.HasPrefix(id, "run_") || len(id) > 64 {
		return ""
	}
	return id
}
