package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Config says where a server is and what it may do. Either URL or Command is needed.
type Config struct {
	// Name stands before the name of every tool, so that the tools of several servers keep apart. Defaults to none.
	Name string

	// URL is the address of a server that speaks streamable HTTP.
	URL string
	// Header is called with every request to the URL's own origin, and with none that a redirect leads elsewhere: the place
	// for a credential. Defaults to none.
	Header func(*http.Request)
	// HTTP makes the requests. Defaults to a client of the server's own.
	HTTP *http.Client

	// Command is a program, with its arguments, that speaks on its standard input and output.
	Command []string
	// Env is added to the little that a program is given of our own environment: no secret of ours is in it.
	Env []string
	// Grace is how long a connection has to close, a program to end by itself, and then again after it was asked to, before
	// it is killed. Defaults to 2 seconds.
	Grace time.Duration

	// ConnectTimeout bounds a connection until it is ready, and a listing. Defaults to 10 seconds.
	ConnectTimeout time.Duration
	// CallTimeout is how long a call may be silent. Progress begins it anew, ten times its length is the end. Defaults to 60
	// seconds.
	CallTimeout time.Duration

	// Allow decides by the server's own name of a tool whether it is listed and may be called. It is asked each time. Defaults
	// to all.
	Allow func(tool string) bool
	// OnChange is told that Tools has become another list. It must not close the server. Defaults to none.
	OnChange func()
	// Progress is told how far a call is, never after the call has ended; total is 0 where nobody knows. It must not block.
	// Defaults to none.
	Progress func(tool, token string, progress, total float64, message string)
	// Log hears what an operator should know. Defaults to slog.Default().
	Log *slog.Logger
}

// patience is how many times CallTimeout a call with progress may take.
const patience = 10

func (c Config) withDefaults() Config {
	c.Grace = cmp.Or(max(c.Grace, 0), 2*time.Second)
	c.ConnectTimeout = cmp.Or(max(c.ConnectTimeout, 0), 10*time.Second)
	c.CallTimeout = cmp.Or(max(c.CallTimeout, 0), time.Minute)
	if c.Allow == nil {
		c.Allow = func(string) bool { return true }
	}
	if c.OnChange == nil {
		c.OnChange = func() {}
	}
	if c.Progress == nil {
		c.Progress = func(string, string, float64, float64, string) {}
	}
	c.Log = cmp.Or(c.Log, slog.Default()).With("mcp", c.label())
	return c
}

// label is how the log calls the server; an address may hold a secret and is not said.
func (c Config) label() string {
	if c.Name != "" {
		return c.Name
	}
	if len(c.Command) > 0 {
		return c.Command[0]
	}
	if u, err := url.Parse(c.URL); err == nil {
		return u.Host
	}
	return ""
}

func (c Config) validate() error {
	if (c.URL == "") == (len(c.Command) == 0) {
		return errors.New("mcp: either an address or a command is needed")
	}
	if c.URL == "" {
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("mcp: the address is not one of HTTP")
	}
	return nil
}

// open makes the way to the server that the config asks for.
func (c Config) open() (carrier, error) {
	if c.URL != "" {
		return newWeb(c), nil
	}
	p, err := startProcess(c)
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	return p, nil
}
