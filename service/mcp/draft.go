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
	Transport string `json:"transport,omitzero" enum:"streamable-http"` // empty: streamable-http
	URL       string `json:"url" max:"2048"`
	Auth      string `json:"auth,omitzero" enum:"none bearer oauth"` // empty: bearer with a token, else none
	Token     string `json:"token,omitzero" max:"8192"`
}

// Edit is what changes of a server; nil stays. Another address takes the tools away and, unless it is of the same origin, the token:
// nobody sends it elsewhere who cannot read it. Whatever changes ends a sign-in.
type Edit struct {
	URL   *string `json:"url,omitzero" max:"2048"`
	Auth  *string `json:"auth,omitzero" enum:"none bearer oauth"`
	Token *string `json:"token,omitzero" max:"8192"`
}

// Create makes a server, which is not connected yet.
func (s *Servers) Create(ctx context.Context, by audit.Actor, scope string, d Draft) (Detail, error) {
	if err := s.checkDraft(&d); err != nil {
		return Detail{}, err
	}
	made := Server{ID: "mcp_" + ulid.Make().String(), Scope: scope, Name: d.Name, URL: d.URL, Auth: d.Auth}
	detail, err := sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (Detail, error) {
		if err := refuseTooMany(tx, scope); err != nil {
			return Detail{}, err
		}
		n, err := tx.Exec(`INSERT INTO mcp_servers (id, scope, name, transport, url, auth, token, status, status_at, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $9) ON CONFLICT (scope, name) DO NOTHING`,
			made.ID, scope, d.Name, StreamableHTTP, d.URL, d.Auth, sqldb.Bit(d.Token != ""), Connecting, s.Now().UnixMilli())
		if err != nil {
			return Detail{}, fmt.Errorf("create MCP server: %w", err)
		}
		if n == 0 {
			return Detail{}, fault.New(fault.NameTaken, "This name is taken.", "Choose another.")
		}
		if err := s.keepToken(tx, made, d.Token, by); err != nil {
			return Detail{}, err
		}
		detail, err := s.detail(tx, scope, made.ID)
		return detail, cmp.Or(err, s.Audit.Append(ctx, tx, event(by, scope, "mcp.created", made.ID)))
	})
	return s.told(ctx, detail, err)
}

func (s *Servers) checkDraft(d *Draft) error {
	switch {
	case len(d.Name) > maxName:
		return wrong("name", strictjson.TooLong, "A name has at most 32 characters.")
	case !serverName.MatchString(d.Name):
		return wrong("name", strictjson.Invalid, "A name is lower-case letters and digits, with single dashes between them.")
	case d.Transport == "stdio":
		return wrong("transport", strictjson.Invalid, "Servers that are programs on this machine are planned; until then only streamable-http is served.")
	case d.Transport != "" && d.Transport != StreamableHTTP:
		return wrong("transport", strictjson.Invalid, "The transport is streamable-http.")
	}
	if d.Auth == "" {
		d.Auth = AuthNone
		if d.Token != "" {
			d.Auth = AuthBearer
		}
	}
	return s.checkAccess(d.URL, d.Auth, d.Token)
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
	if before.URL != after.URL {
		if _, err := tx.Exec("DELETE FROM mcp_tools WHERE server = $1", after.ID); err != nil {
			return err
		}
		if err := tx.Do("forget what was left out", "UPDATE mcp_servers SET omitted = '[]' WHERE id = $1", after.ID); err != nil {
			return err
		}
	}
	now := iso.At(s.Now()).UnixMilli()
	return tx.Do("change MCP server", `UPDATE mcp_servers SET url = $2, auth = $3, token = $4, setting = setting + 1, status = $5, status_at = $6, reason = '',
		version = version + 1, updated_at = $6 WHERE id = $1`, after.ID, after.URL, after.Auth, sqldb.Bit(token != ""), Connecting, now)
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
