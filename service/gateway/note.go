package gateway

import (
	"strings"

	"svc.dev/svc/service/audit"
)

// note tells a workspace's people what staff do there, before it is done: what cannot be told is not done. What its own
// people do is told where it is done.
func (x *exchange) note(address, path string) error {
	if x.Surface != Admin {
		return nil
	}
	e := audit.Event{Actor: audit.From(x.Ctx()).Actor, Action: "staff.read", Target: noted(path), Scope: address}
	if x.Safe() {
		return x.g.Accounts.Staff.NoteReading(x.Ctx(), e)
	}
	e.Action, e.Changes = "staff.acted", []string{strings.ToLower(x.Request.Method) + " " + strings.TrimPrefix(path, "/")}
	return x.g.Accounts.Staff.NoteStaff(x.Ctx(), e)
}

// nouns are what the items of a list are called in the log.
var nouns = map[string]string{
	"agents": "conversation", "workflows": "workflow", "runs": "run", "people": "member", "invitations": "invitation", "teams": "team",
	"secrets": "secret", "keys": "key", "projects": "project", "entrypoint": "entrypoint",
}

// noted is what a path of a workspace is about: all of a conversation, a run or a project is one thing.
func noted(path string) audit.Target {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	kind, known := nouns[segments[0]]
	switch {
	case path == "":
		return audit.Target{Kind: "workspace"}
	case len(segments) == 1 || !known:
		return audit.Target{Kind: "list", ID: segments[len(segments)-1]}
	case kind == "conversation":
		return audit.Target{Kind: kind, ID: strings.Join(segments[1:min(len(segments), 3)], "/")}
	}
	return audit.Target{Kind: kind, ID: segments[1]}
}

// below is what follows the workspace in a path below W.
func (x *exchange) below() string {
	path := strings.TrimPrefix(x.Request.URL.Path, "/api/workspaces/")
	for range strings.Count(strings.TrimPrefix(x.address(), "users/"), "/") + 1 {
		_, path, _ = strings.Cut(path, "/")
	}
	return path
}
