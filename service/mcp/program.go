package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/strictjson"
	client "svc.dev/svc/tool/mcp"
)

// Bounds of what people say of a program.
const (
	maxCommand   = 1024
	maxArgs      = 64
	maxArg       = 4096
	maxVariables = 64
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// program is a server that is started instead of called, by each process that connects it. Its credential is its environment, of which
// only the names are known here.
type program struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []string `json:"env"`
}

// parts is the program as it is started.
func (p program) parts() []string { return append([]string{p.Command}, p.Args...) }

// program is how a server is started; a server that is called has none.
func (s Server) program() program { return program{s.Command, s.Args, s.Env} }

func (s *Server) setProgram(p program) { s.Command, s.Args, s.Env = p.Command, p.Args, p.Env }

// stored is what is kept of how a server is started.
func (s Server) stored() (string, error) {
	if s.Transport != Stdio {
		return "", nil
	}
	text, err := json.Marshal(s.program())
	return string(text), err
}

// isWhere reports whether another is the same server, as far as can be told by where it is.
func (s Server) isWhere(other Server) bool {
	return s.URL == other.URL && slices.Equal(s.program().parts(), other.program().parts())
}

// programs are the servers as far as they are started here.
type programs struct{ *Servers }

// drafted is the program that a draft describes, and its credential.
func (s programs) drafted(of Server, d Draft) (_ Server, token string, err error) {
	if d.URL != "" || d.Token != "" || d.Auth != "" && d.Auth != AuthNone {
		return of, "", wrong("url", strictjson.Invalid, "A program has no address, and its credential is its environment.")
	}
	of.Auth = AuthNone
	of.setProgram(program{d.Command, d.Args, slices.Sorted(maps.Keys(d.Env))})
	if err := s.check(of.Scope, of.program(), d.Env); err != nil {
		return of, "", err
	}
	token, err = credential(d.Env)
	return of, token, err
}

// check judges how a server is to be started, and with what. Whoever says it can run anything as this service does, so it has to
// be the staff's own workspace.
func (s programs) check(scope string, p program, env map[string]string) error {
	switch {
	case s.Programs == "" || scope != s.Programs:
		return wrong("transport", strictjson.Invalid, "Servers that are programs on this machine are for the staff's own workspace. Elsewhere the transport is streamable-http.")
	case p.Command == "":
		return wrong("command", "required", "A program needs a command.")
	case len(p.Command) > maxCommand:
		return wrong("command", strictjson.TooLong, "A command has at most 1,024 bytes.")
	case len(p.Args) > maxArgs:
		return wrong("args", strictjson.TooLong, "A program has at most 64 arguments.")
	case slices.ContainsFunc(p.Args, func(arg string) bool { return len(arg) > maxArg }):
		return wrong("args", strictjson.TooLong, "An argument has at most 4,096 bytes.")
	case slices.ContainsFunc(p.parts(), func(part string) bool { return strings.ContainsRune(part, 0) }):
		return wrong("command", strictjson.Invalid, "No part of a command holds a zero byte.")
	}
	return checkVariables(env)
}

func checkVariables(env map[string]string) error {
	if len(env) > maxVariables {
		return wrong("env", strictjson.TooLong, "A program is given at most 64 variables.")
	}
	size := 0
	for name, value := range env {
		if size += len(name) + len(value); !variableName.MatchString(name) || strings.ContainsRune(value, 0) {
			return wrong("env", strictjson.Invalid, "A variable's name is letters, digits and underscores, and its value holds no zero byte.")
		}
	}
	if size > maxToken {
		return wrong("env", strictjson.TooLong, "The variables of a program have at most 8 KiB.")
	}
	return nil
}

// credential is an environment as it is sealed; empty: there is none.
func credential(env map[string]string) (string, error) {
	if len(env) == 0 {
		return "", nil
	}
	text, err := json.Marshal(env)
	return string(text), err
}

// apply takes over what is given of a program and differs. It says which, and the credential that it has then: another program is
// not given the variables of this one, which whoever names it cannot read.
func (s programs) apply(tx *sqldb.Tx, to *Server, e Edit) (names []string, token string, err error) {
	if e.URL != nil || e.Auth != nil || e.Token != nil {
		return nil, "", wrong("url", strictjson.Invalid, "A program has no address, and its credential is its environment.")
	}
	p := to.program()
	if e.Command != nil && *e.Command != p.Command {
		p.Command, names = *e.Command, append(names, "command")
	}
	if e.Args != nil && !slices.Equal(*e.Args, p.Args) {
		p.Args, names = *e.Args, append(names, "args")
	}
	var env map[string]string
	switch {
	case e.Env != nil:
		env, names = *e.Env, append(names, "env")
	case len(names) == 0 && to.TokenPresent:
		return nil, "", nil
	}
	p.Env = slices.Sorted(maps.Keys(env))
	if err := s.check(to.Scope, p, env); err != nil {
		return nil, "", err
	}
	to.setProgram(p)
	token, err = credential(env)
	return names, token, err
}

// start starts a server that is a program and connects to it.
func (s programs) start(ctx context.Context, at Server) (*client.Server, *way, error) {
	kept, err := s.kept(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	var env map[string]string
	if text := kept.Reveal(); text != "" {
		if err := json.Unmarshal([]byte(text), &env); err != nil {
			return nil, nil, fmt.Errorf("read the environment of an MCP server: %w", err)
		}
	}
	c := s.client(at)
	c.Command = at.program().parts()
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	w := &way{}
	w.wrong("The program cannot be started, or does not speak MCP.")
	server, err := client.Connect(ctx, c)
	return server, w, err
}
