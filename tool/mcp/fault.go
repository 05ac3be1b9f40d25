package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"svc.dev/svc/fault"
)

// The types of the faults that Connect and calls end with. What a transport says stays inside, for it knows addresses.
const (
	Unavailable  = "mcp_unavailable"
	Unauthorized = "mcp_unauthorized" // the server wants another credential
	Timeout      = "mcp_timeout"
	Refused      = "mcp_refused" // the server answered with an error of the protocol
	Disabled     = "mcp_tool_disabled"
)

// maxReason bounds what is passed on of an error that a server words.
const maxReason = 4096

var errSilent = errors.New("the server is silent")

func closed() error {
	return fault.New(Unavailable, "The MCP server is not connected any more.", "")
}

func unavailable(cause error) error {
	return fault.New(Unavailable, "The MCP server cannot be reached.", "").Because(cause)
}

func unauthorized(cause error) error {
	return fault.New(Unauthorized, "The MCP server refuses the credential.", "").Because(cause)
}

// notConnected says why a connection or a listing did not come about.
func notConnected(ctx context.Context, way carrier, err error) error {
	switch {
	case way.denied():
		return unauthorized(err)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fault.New(Timeout, "The MCP server did not get ready in time.", "").Because(err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if answer := answered(err); answer != nil {
		return refused(answer)
	}
	return unavailable(err)
}

func refused(answer *jsonrpc.Error) error {
	return fault.New(Refused, "The MCP server refused the request.", cut(answer.Message, maxReason)).Because(answer)
}

// answered is the error that the server itself answered with; those that the SDK makes up for a transport are none.
func answered(err error) *jsonrpc.Error {
	const clientClosing, serverClosing, rejected = -32003, -32004, -32005
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code == clientClosing || e.Code == serverClosing || e.Code == rejected {
		return nil
	}
	return e
}
