package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/screen"
)

// errInterrupted says that somebody pressed Ctrl-C.
var errInterrupted = errors.New("interrupted")

// explained is an error of the service in words for people, which knows what it was.
type explained struct {
	text  string
	cause error
}

func (f explained) Error() string { return f.text }
func (f explained) Unwrap() error { return f.cause }

// explain says what came of a request, and where that helps, what to do about it. What others wrote of it is cleaned.
func (c *contact) explain(err error) error {
	e, ok := errors.AsType[*client.Error](err)
	if _, already := errors.AsType[explained](err); !ok || already {
		return err
	}
	said := screen.Line(e.Message + " " + e.Details)
	switch {
	case e.Type == client.Cancelled:
		return explained{errInterrupted.Error(), errors.Join(errInterrupted, e)}
	case e.Type == client.Unreachable:
		return explained{fmt.Sprintf("%s cannot be reached: %s", c.profile.BaseURL, screen.Line(lastCause(e))), err}
	case e.Type == client.InvalidInput && e.Cause != nil:
		return explained{screen.Line(e.Cause.Error()), err}
	case e.Status == http.StatusUnauthorized && c.profile.Key == "":
		return explained{fmt.Sprintf("%s wants a key: sign in with svc login, or set %s", c.profile.BaseURL, KeyVariable), err}
	case e.Status == http.StatusUnauthorized:
		return explained{fmt.Sprintf("the key …%s is not accepted: %s Sign in again with svc login", c.profile.Last4(), said), err}
	case e.Status == http.StatusForbidden && required(e) != "":
		return explained{fmt.Sprintf("the key …%s was not made for this: it needs %s", c.profile.Last4(), screen.Line(required(e))), err}
	case e.Target != "":
		return explained{said, err}
	}
	if e.RequestID != "" && e.Status >= 500 {
		said += " (" + screen.Line(e.RequestID) + ")"
	}
	return explained{said, err}
}

// required is the scope that a key lacks; empty where that is not what is wrong.
func required(e *client.Error) string {
	var meta struct{ Required any }
	if json.Unmarshal(e.Meta, &meta) != nil || meta.Required == nil {
		return ""
	}
	return strings.Trim(fmt.Sprint(meta.Required), "[]")
}

// lastCause is the innermost reason, without the addresses around it.
func lastCause(e *client.Error) string {
	if e.Cause == nil {
		return e.Message
	}
	if u, ok := errors.AsType[*url.Error](e.Cause); ok {
		return u.Err.Error()
	}
	return e.Cause.Error()
}

// isInterrupted reports whether somebody pressed Ctrl-C.
func isInterrupted(err error) bool { return client.Is(err, client.Cancelled) }
