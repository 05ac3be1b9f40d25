package ts

import (
	"context"
	"errors"
	"log/slog"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/bundle"
	"svc.dev/svc/internal/script"
)

// Faults of scripts.
const (
	scriptTimeout = "script_timeout"
	scriptMemory  = "script_memory"
)

// notBundled is why there is no script.
func notBundled(err error) error {
	if _, ok := errors.AsType[*bundle.Error](err); ok {
		return fault.New("bundle_failed", "The project cannot be bundled.", err.Error()).Because(err)
	}
	return invalid(err.Error())
}

// notStarted is what a project did when it was loaded, with its stack.
func notStarted(err error) error {
	f := fault.New("project_failed", "The project does not start.", err.Error()).Because(err)
	if stack := stackOf(err); stack != "" {
		f.Details += "\n" + stack
	}
	return f
}

// stackOf is where in the sources an error arose; empty where that is not known.
func stackOf(err error) string {
	if t, ok := errors.AsType[*script.Thrown](err); ok {
		return t.Stack
	}
	if o, ok := errors.AsType[*script.Overrun](err); ok {
		return o.Stack
	}
	return ""
}

// notDescribed is what is wrong with a module.
func notDescribed(err error) error {
	if t, ok := errors.AsType[*script.Thrown](err); ok && t.Type != "" {
		return fault.New(t.Type, t.Message, t.Details)
	}
	return notStarted(err)
}

// failure is how an act failed, as the Runtime hears it: a fault, or the name and message of what was thrown.
func failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, script.ErrTurn):
		return timedOut(err)
	case errors.Is(err, script.ErrMemory):
		return fault.New(scriptMemory, "The script used more memory than it may.", "").Because(err)
	case unavailable(err):
		return fault.NotAvailable("engine").Because(err)
	}
	t, ok := errors.AsType[*script.Thrown](err)
	switch {
	case !ok:
		return err
	case t.Name == "InternalError" && t.Message == "interrupted":
		return timedOut(err)
	case t.Name == "InternalError" && t.Message == "out of memory":
		return fault.New(scriptMemory, "The script used more memory than it may.", "").Because(err)
	case t.Type != "":
		return &fault.Error{Type: t.Type, Message: t.Message, Details: t.Details, Meta: t.Meta, Cause: err}
	}
	return &svc.StepError{Name: t.Name, Message: t.Message}
}

func timedOut(err error) error {
	return fault.New(scriptTimeout, "The script did not come to a rest in time.", "").Because(err)
}

// unavailable reports whether the engine, and not the script, is the reason.
func unavailable(err error) bool {
	return errors.Is(err, script.ErrLost) || errors.Is(err, script.ErrFull) || errors.Is(err, errClosed)
}

// thrown is an error as scripts catch it.
func thrown(err error) error {
	if err == nil {
		return nil
	}
	if kept, ok := errors.AsType[*svc.StepError](err); ok {
		return &script.Thrown{Name: kept.Name, Message: kept.Message}
	}
	f := fault.From(err)
	if f.Type == fault.Internal {
		return &script.Thrown{Name: "Error", Message: err.Error()}
	}
	t := &script.Thrown{Name: "SvcError", Message: f.Message, Type: f.Type, Details: f.Details, Meta: f.Meta}
	if f.Type == fault.Unavailable || f.Type == fault.BodyTooLarge {
		t.Status, _ = fault.Status(f.Type)
	}
	return t
}

// report tells authors what was thrown, with its stack in the sources.
func report(ctx context.Context, log *slog.Logger, what string, err error, about ...any) {
	t, ok := errors.AsType[*script.Thrown](err)
	if !ok {
		log.ErrorContext(ctx, what, append(about, "error", err, "stack", stackOf(err))...)
		return
	}
	level := slog.LevelError
	if t.Type != "" {
		level = slog.LevelInfo // the author foresaw it, and it is told where it happened
	}
	log.Log(ctx, level, what, append(about, "error", t.Error(), "stack", t.Stack)...)
}
