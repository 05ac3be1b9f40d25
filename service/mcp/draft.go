package mcp

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

// Bounds of what people say of a server, and of how many there are.
const (
	maxServers = 100 // of one workspace
	maxName    = 32
	maxURL     = 2048
	maxToken   = 8 << 10
)

var (
	serverName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	// tokenForm is what a header can carry.
	tokenForm = regexp.MustCompile(`^[!-~]+$`)
)

// Draft is what a server is made of. Its name is given once: agents call its tools by it.
type Draft struct {
	Name      string `json:"name" min:"1" max:"32"`
	Transport string `json:"transport,omitzero" enum:"streamable-http stdio"` // empty: streamable-http
	URL       string `json:"url,omitzero" max:"2048"`
	Auth      string `json:"auth,omitzero" enum:"none bearer oauth"` // empty: bearer with a token, else none
	Token     string `json:"token,omitzero" max:"8192"`

	// Of a program, in the staff's own workspace.
	Command string            `json:"command,omitzero" max:"1024"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
}

// Edit is what changes of a server; nil stays. Another address takes the tools away and, unless it is of the same origin, the token:
// nobody sends it elsewhere who cannot read it. Whatever changes ends a sign-in.
type Edit struct {
	URL   *string `json:"url,omitzero" max:"2048"`
	Auth  *string `json:"auth,omitzero" enum:"none bearer oauth"`
	Token *string `json:"token,omitzero" max:"8192"`

	Command *string            `json:"command,omitzero" max:"1024"`
	Args    *[]string          `json:"args,omitzero"`
	Env     *map[string]string `json:"env,omitzero"`
}

// Create makes a server, which is not connected yet.
func (s *Servers) Create(ctx context.Context, by audit.Actor, scope string, d Draft) (Detail, error) {
	made, token, err := s.drafted(scope, d)
	if err != nil {
		return Detail{}, err
	}
	program, err := made.stored()
	if err != nil {
		return Detail{}, err
	}
	detail, err := sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (Detail, error) {
		if err := refuseTooMany(tx, scope); err != nil {
			return Detail{}, err
		}
		n, err := tx.Exec(`INSERT INTO mcp_servers (id, scope, name, transport, url, program, auth, token, status, status_at, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10) ON CONFLICT (scope, name) DO NOTHING`,
			made.ID, scope, made.Name, made.Transport, made.URL, program, made.Auth, sqldb.Bit(token != ""), Connecting, s.Now().UnixMilli())
		if err != nil {
			return Detail{}, fmt.Errorf("create MCP server: %w", err)
		}
		if n == 0 {
			return Detail{}, fault.New(fault.NameTaken, "This name is taken.", "Choose another.")
		}
		if err := s.keepToken(tx, made, token, by); err != nil {
			return Detail{}, err
		}
		detail, err := s.detail(tx, scope, made.ID)
		return detail, cmp.Or(err, s.Audit.Append(ctx, tx, event(by, scope, "mcp.created", made.ID)))
	})
	return s.told(ctx, detail, err)
}

// drafted is the server that a draft describes, and its credential.
func (s *Servers) drafted(scope string, d Draft) (of Server, token string, err error) {
	of = Server{ID: "mcp_" + ulid.Make().String(), Scope: scope, Name: d.Name, Transport: cmp.Or(d.Transport, StreamableHTTP), URL: d.URL, Auth: d.Auth}
	switch {
	case len(d.Name) > maxName:
		return of, "", wrong("name", strictjson.TooLong, "A name has at most 32 characters.")
	case !serverName.MatchString(d.Name):
		return of, "", wrong("name", strictjson.Invalid, "A name is lower-case letters and digits, with single dashes between them.")
	case of.Transport == Stdio:
		return programs{s}.drafted(of, d)
	case of.Transport != StreamableHTTP:
		return of, "", wrong("transport", strictjson.Invalid, "The transport is streamable-http or stdio.")
	case d.Command != "" || d.Args != nil || d.Env != nil:
		return of, "", wrong("command", strictjson.Invalid, "Only a server that is a program has a command, arguments and an environment.")
	}
	if of.Auth == "" {
		of.Auth = AuthNone
		if d.Token != "" {
			of.Auth = AuthBearer
		}
	}
	return of, d.Token, s.checkAccess(d.URL, of.Auth, d.Token)
}

// checkAccess judges where a server is and by what it is reached.
func (s *Servers) checkAccess(address, auth, token string) error {
	switch {
	case auth != AuthNone && auth != AuthBearer && auth != AuthOAuth:
		return wrong("auth", strictjson.Invalid, "A credential is none, bearer or oauth.")
	case auth == AuthOAuth && s.Callback == "":
		return wrong("auth", strictjson.Invalid, "Nobody can sign in to MCP servers from here.")
	case auth != AuthBearer && token != "":
		return wrong("token", strictjson.Invalid, "Only a bearer is given a token.")
	case auth == AuthBearer && token == "":
		return wrong("token", "required", "A bearer's token is needed.")
	case len(token) > maxToken:
		return wrong("token", strictjson.TooLong, "A token has at most 8 KiB.")
	case token != "" && !tokenForm.MatchString(token):
		return wrong("token", strictjson.Invalid, "A token is visible ASCII characters.")
	}
	return s.checkURL(address, auth)
}

func (s *Servers) checkURL(address, auth string) error {
	if len(address) > maxURL {
		return wrong("url", strictjson.TooLong, "An address has at most 2,048 characters.")
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Fragment != "" || !tokenForm.MatchString(address) {
		return wrong("url", strictjson.Invalid, "Write the address as https://host/path.")
	}
	if err := s.Outward.Check(u); err != nil {
		return wrong("url", strictjson.Invalid, "This service does not go to that address. Its operator can allow one on a private network (mcp.allow_private).")
	}
	if u.Scheme == "http" && auth != AuthNone && !s.Outward.Allows(u) {
		return wrong("url", strictjson.Invalid, "A credential is sent over https alone, but to places that the operator names (mcp.allow_private).")
	}
	return nil
}

func refuseTooMany(tx *sqldb.Tx, scope string) error {
	n, err := sqldb.Value[int64](tx, "count MCP servers", "SELECT count(*) FROM mcp_servers WHERE scope = $1", scope)
	if err == nil && n >= maxServers {
		err = fault.Invalid("There are at most %d MCP servers in a workspace.", maxServers)
	}
	return err
}

// keepToken seals a bearer's token in the place of whatever is kept; an empty one destroys that.
func (s *Servers) keepToken(tx *sqldb.Tx, of Server, token string, by audit.Actor) error {
	if token == "" {
		return s.consents().forgetConsent(tx, of)
	}
	if err := endConsent(tx, of.ID); err != nil {
		return err
	}
	_, err := s.Secrets.Seal(tx, of.owner(), of.secret(), []byte(token), cmp.Or(by.ID, by.Kind))
	return err
}

// Patch changes a server whose version is the one given; 0 is any. It has to be connected again.
func (s *Servers) Patch(ctx context.Context, by audit.Actor, scope, id string, version int64, e Edit) (Detail, error) {
	d, err := sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (Detail, error) {
		before, err := claim(tx, scope, id, version)
		if err != nil {
			return Detail{}, err
		}
		after := before
		names, token, err := s.apply(tx, &after, e)
		if err != nil || len(names) == 0 {
			d, found := s.detail(tx, scope, id)
			return d, cmp.Or(err, found)
		}
		if err := cmp.Or(s.keepToken(tx, after, token, by), s.set(tx, before, after, token)); err != nil {
			return Detail{}, err
		}
		d, err := s.detail(tx, scope, id)
		return d, cmp.Or(err, s.Audit.Append(ctx, tx, event(by, scope, "mcp.changed", id, names...)))
	})
	return s.told(ctx, d, err)
}

// apply takes over what is given and differs. It says which, and which token the server has then.
func (s *Servers) apply(tx *sqldb.Tx, to *Server, e Edit) (names []string, token string, err error) {
	if to.Transport == Stdio {
		return programs{s}.apply(tx, to, e)
	}
	if e.Command != nil || e.Args != nil || e.Env != nil {
		return nil, "", wrong("command", strictjson.Invalid, "Only a server that is a program has a command, arguments and an environment.")
	}
	moved := e.URL != nil && *e.URL != to.URL
	keeps := to.TokenPresent && to.Auth == AuthBearer && (!moved || sameOrigin(to.URL, *e.URL)) && (e.Auth == nil || *e.Auth == AuthBearer)
	if keeps && e.Token == nil {
		value, err := s.Secrets.OpenIn(tx, to.owner(), to.secret())
		if err != nil {
			return nil, "", err
		}
		token = string(value)
		clear(value)
	}
	if moved {
		to.URL, names = *e.URL, append(names, "url")
	}
	if e.Auth != nil && *e.Auth != to.Auth {
		to.Auth, names = *e.Auth, append(names, "auth")
	}
	if e.Token != nil {
		token, names = *e.Token, append(names, "token")
	}
	return names, token, s.checkAccess(to.URL, to.Auth, token)
}

// set writes how a server is set up now. Of another address nothing is known yet.
func (s *Servers) set(tx *sqldb.Tx, before, after Server, token string) error {
	if !before.isWhere(after) {
		if _, err := tx.Exec("DELETE FROM mcp_tools WHERE server = $1", after.ID); err != nil {
			return err
		}
		if err := tx.Do("forget what was left out", "UPDATE mcp_servers SET omitted = '[]' WHERE id = $1", after.ID); err != nil {
			return err
		}
	}
	program, err := after.stored()
	if err != nil {
		return err
	}
	now := iso.At(s.Now()).UnixMilli()
	return tx.Do("change MCP server", `UPDATE mcp_servers SET url = $2, program = $3, auth = $4, token = $5, setting = setting + 1, status = $6, status_at = $7, reason = '',
		version = version + 1, updated_at = $7 WHERE id = $1`, after.ID, after.URL, program, after.Auth, sqldb.Bit(token != ""), Connecting, now)
}

// sameOrigin reports whether both addresses are those of one host and port.
func sameOrigin(a, b string) bool {
	left, err := url.Parse(a)
	right, wrong := url.Parse(b)
	return err == nil && wrong == nil && strings.EqualFold(left.Scheme, right.Scheme) && strings.EqualFold(left.Host, right.Host)
}

// Delete forgets a server and its credential. One that agents use stays.
func (s *Servers) Delete(ctx context.Context, by audit.Actor, scope, id string, version int64) error {
	used, err := s.UsedBy(ctx, scope)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		gone, err := claim(tx, scope, id, version)
		if err != nil {
			return err
		}
		if by := slices.Clone(used[gone.Name]); len(by) > 0 {
			return fault.New(fault.InUse, "Agents use this MCP server.", "Take it away from them first.").With("usedBy", by)
		}
		if err := s.consents().forgetConsent(tx, gone); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM mcp_tools WHERE server = $1", id); err != nil {
			return err
		}
		return cmp.Or(tx.Do("delete MCP server", "DELETE FROM mcp_servers WHERE id = $1", id), s.Audit.Append(ctx, tx, event(by, scope, "mcp.deleted", id)))
	})
}
