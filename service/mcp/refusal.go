package mcp

import (
	"time"

	"svc.dev/svc/fault"
)

// The types of refusals that only this room has.
const (
	NotConnected = "mcp_not_connected" // 409
	Unreachable  = "mcp_unreachable"   // 502
	// ToolChanged is what a model is told of a tool that has become another.
	ToolChanged = "mcp_tool_changed"
)

// NotFound refuses what is not there, or not to be seen.
func NotFound() error { return fault.New(fault.ItemNotFound, "There is no such item.", "") }

// wrong refuses a field.
func wrong(field, problem, details string) error {
	return fault.Invalid("%s", details).With("fields", []map[string]string{{"field": field, "type": problem}})
}

// conflict refuses what was meant for a server as it was set up before.
func conflict(now Server) error {
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", now.Version)
}

// notSignedIn refuses somebody who came back from an authorization server.
func notSignedIn(why string) *fault.Error {
	return fault.New(Unreachable, "The sign-in to the MCP server did not succeed.", why+" Connect it again.")
}

func busy() error {
	return fault.New(fault.Busy, "Too many MCP servers are in use here.", "Try again shortly.").After(time.Second)
}
