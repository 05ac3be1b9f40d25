package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc"
	"svc.dev/svc/fault"
)

// pending is a call that waits for its answer.
type pending struct {
	tool    string
	silence *time.Timer

	mu    sync.Mutex
	ended bool
}

// caller calls a tool by the server's own name for it.
func (s *Server) caller(tool string) func(context.Context, json.RawMessage) (svc.ToolResult, error) {
	return func(ctx context.Context, input json.RawMessage) (svc.ToolResult, error) {
		if !s.config.Allow(tool) {
			return svc.ToolResult{}, fault.New(Disabled, "The tool is switched off.", "")
		}
		if !s.enter() {
			return svc.ToolResult{}, closed()
		}
		defer s.work.Done()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		unhook := context.AfterFunc(s.life, func() { cancel(closed()) })
		defer unhook()
		answer, err := s.ask(ctx, tool, input)
		if err != nil {
			return svc.ToolResult{}, err
		}
		return resultOf(answer), nil
	}
}

// Call calls a tool by the server's own name for it, for those who name and describe the tools themselves.
func (s *Server) Call(ctx context.Context, tool string, input json.RawMessage) (svc.ToolResult, error) {
	return s.caller(tool)(ctx, input)
}

// enter counts a call in, so that Close waits for it.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}

// ask asks once. A request that never left, because the connection turned out to be gone, is made again on a new one.
func (s *Server) ask(ctx context.Context, tool string, input json.RawMessage) (*sdk.CallToolResult, error) {
	for again := true; ; again = false {
		l, err := s.connected(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := s.send(ctx, l, tool, input)
		if err == nil {
			return answer, nil
		}
		if again && l.neverSent(err) {
			l.lost.Store(true)
			continue
		}
		return nil, s.failed(ctx, l, tool, err)
	}
}

// send makes one request. It is given up when nothing was heard for too long, or when its time is over all the same.
func (s *Server) send(ctx context.Context, l *link, tool string, input json.RawMessage) (*sdk.CallToolResult, error) {
	ctx, stop := context.WithTimeoutCause(ctx, patience*s.config.CallTimeout, errSilent)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	token := s.expect(tool, func() { cancel(errSilent) })
	defer s.forget(token)
	params := &sdk.CallToolParams{Name: tool}
	if len(input) > 0 && string(input) != "null" {
		params.Arguments = input
	}
	params.SetProgressToken(token)
	var answer *sdk.CallToolResult
	var err error
	l.within(ctx, s.config.Grace, func() { answer, err = l.session.CallTool(ctx, params) })
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return nil, errSilent
	}
	return answer, err
}

// failed says to the model what went wrong, and to the log what it is not told.
func (s *Server) failed(ctx context.Context, l *link, tool string, err error) error {
	if errors.Is(err, errSilent) {
		return fault.New(Timeout, "The MCP server did not answer in time.", "It was given "+s.config.CallTimeout.String()+".")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.blame(err)
	if answer := answered(err); answer != nil {
		return refused(answer)
	}
	s.config.Log.Warn("mcp call failed", "tool", tool, "err", err)
	switch {
	case l.denied():
		return unauthorized(err)
	case l.broken():
		return fault.New(Unavailable, "The connection to the MCP server broke.", "The call may or may not have taken effect.").Because(err)
	}
	return fault.New(Unavailable, "The MCP server gave no usable answer.", "The call may or may not have taken effect.").Because(err)
}

// expect registers a call under a token of its own.
func (s *Server) expect(tool string, silent func()) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	token := strconv.Itoa(s.tokens)
	s.calls[token] = &pending{tool: tool, silence: time.AfterFunc(s.config.CallTimeout, silent)}
	return token
}

func (s *Server) forget(token string) {
	s.mu.Lock()
	call := s.calls[token]
	delete(s.calls, token)
	s.mu.Unlock()
	call.mu.Lock()
	defer call.mu.Unlock()
	call.silence.Stop()
	call.ended = true
}

// progress gives a call more time and passes on how far it is; the call does not return meanwhile.
func (s *Server) progress(p *sdk.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	s.mu.Lock()
	call := s.calls[token]
	s.mu.Unlock()
	if call == nil {
		return
	}
	call.mu.Lock()
	defer call.mu.Unlock()
	if call.ended {
		return
	}
	call.silence.Reset(s.config.CallTimeout)
	s.config.Progress(call.tool, token, p.Progress, p.Total, cut(p.Message, maxReason))
}
