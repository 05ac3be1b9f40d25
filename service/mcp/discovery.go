package mcp

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// maxScope bounds what is asked for, in characters.
const maxScope = 1024

// impossible is why nobody can sign in to a server, in words that hold nothing of what the other side said.
type impossible string

func (i impossible) Error() string { return string(i) }

// desk is where people sign in to a server.
type desk struct {
	*oauthex.AuthServerMeta
	resource string // what a token is for
	scope    string // what is asked for
}

// inquiry is a client that asks what others name, and knows where it was led.
type inquiry struct {
	*way
	http *http.Client
}

func (s *Servers) inquiry() inquiry {
	w := &way{}
	return inquiry{w, s.through(w)}
}

// failed is why a question went unanswered.
func (q inquiry) failed(ctx context.Context, otherwise impossible) impossible {
	switch {
	case q.forbidden.Load():
		return "The authorization server is at an address to which this service does not go."
	case ctx.Err() != nil:
		return "The authorization server did not answer in time."
	}
	return otherwise
}

// discover finds out where people sign in to a server that wants it, by the MCP authorization specification. It returns an impossible
// where that cannot be.
func (s *Servers) discover(ctx context.Context, to Server, headers []string) (desk, error) {
	asked := challengeOf(headers)
	resource, err := s.resource(ctx, to, asked["resource_metadata"])
	if err != nil {
		return desk{}, err
	}
	meta, err := s.authority(ctx, to, resource.AuthorizationServers[0])
	if err != nil {
		return desk{}, err
	}
	return desk{meta, resource.Resource, scopeOf(asked["scope"], resource, meta)}, nil
}

// challengeOf is what a server says of the bearer that it wants; nil: nothing that can be read.
func challengeOf(headers []string) map[string]string {
	all, err := oauthex.ParseWWWAuthenticate(headers)
	if err != nil {
		return nil
	}
	for _, c := range all {
		if c.Scheme == "bearer" {
			return c.Params
		}
	}
	return nil
}

// resource is what a server says of itself. One that says nothing is its own authorization server, as before that was specified.
func (s *Servers) resource(ctx context.Context, of Server, named string) (*oauthex.ProtectedResourceMetadata, error) {
	q := s.inquiry()
	for _, d := range documentsOf(of.URL, named) {
		meta, err := oauthex.GetProtectedResourceMetadata(ctx, d.address, d.resource, q.http)
		switch {
		case err == nil && len(meta.AuthorizationServers) == 0:
			return nil, impossible("The server names no authorization server.")
		case err == nil:
			return meta, nil
		case q.forbidden.Load() || ctx.Err() != nil:
			return nil, q.failed(ctx, "")
		}
		s.Log.DebugContext(ctx, "no resource metadata", "scope", of.Scope, "server", of.ID, "error", err)
	}
	return &oauthex.ProtectedResourceMetadata{Resource: of.URL, AuthorizationServers: []string{originOf(of.URL)}}, nil
}

// document is where a server may say who its authorization server is, and what it then calls itself.
type document struct{ address, resource string }

// documentsOf are the documents of a server in the order in which they are looked for: the one that it named, then the well-known
// ones, of its path and of its origin (RFC 9728).
func documentsOf(server, named string) (all []document) {
	if named != "" {
		all = append(all, document{named, server})
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	u, err := url.Parse(server)
	if err != nil {
		return all
	}
	if path := strings.TrimLeft(u.Path, "/"); path != "" {
		own := *u
		own.Path, own.RawPath = wellKnown+"/"+path, ""
		all = append(all, document{own.String(), server})
	}
	origin := originOf(server)
	return append(all, document{origin + wellKnown, origin}, document{origin + wellKnown, origin + "/"})
}

// originOf is the address of a host, without a path.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// authority is what an authorization server says of itself, if people can sign in by it from here.
func (s *Servers) authority(ctx context.Context, to Server, issuer string) (*oauthex.AuthServerMeta, error) {
	q := s.inquiry()
	if !s.isPlace(issuer) {
		return nil, impossible("The server names an authorization server to which this service does not go.")
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, q.http)
	switch {
	case err != nil:
		s.Log.WarnContext(ctx, "metadata of an authorization server is refused", "scope", to.Scope, "server", to.ID, "error", err)
		return nil, q.failed(ctx, "The metadata of the authorization server cannot be used: it is that of another issuer, says nothing of PKCE, names an address without https, or cannot be read.")
	case meta == nil:
		return nil, impossible("The authorization server says nothing of itself: it has no metadata.")
	case !slices.Contains(meta.CodeChallengeMethodsSupported, "S256"):
		return nil, impossible("The authorization server does not know PKCE with S256, without which nobody signs in from here.")
	case meta.RegistrationEndpoint == "":
		return nil, impossible("The authorization server registers no clients by itself, so this service cannot be one.")
	case !s.isPlace(meta.AuthorizationEndpoint) || !s.isPlace(meta.TokenEndpoint) || !s.isPlace(meta.RegistrationEndpoint):
		return nil, impossible("The authorization server names an address to which this service does not go.")
	}
	return meta, nil
}

// isPlace reports whether an address that others name may be gone to, as far as can be known before it is.
func (s *Servers) isPlace(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= maxURL && tokenForm.MatchString(address) && u.Fragment == "" && s.Outward.Check(u) == nil
}

// scopeOf is what to ask for: what the server wants, or else all that it has, and that the sign-in may be renewed.
func scopeOf(wanted string, resource *oauthex.ProtectedResourceMetadata, meta *oauthex.AuthServerMeta) string {
	const offline = "offline_access"
	all := strings.Fields(wanted)
	if len(all) == 0 {
		all = slices.Clone(resource.ScopesSupported)
	}
	if slices.Contains(meta.ScopesSupported, offline) && !slices.Contains(all, offline) {
		all = append(all, offline)
	}
	text := strings.Join(all, " ")
	if len(text) > maxScope || plain(text) != text {
		return ""
	}
	return text
}

// register makes this service a client of an authorization server (RFC 7591). What comes back is a consent that nobody gave yet.
func (s *Servers) register(ctx context.Context, at desk) (consent, error) {
	const otherwise = impossible("The authorization server does not take this service for a client.")
	q := s.inquiry()
	kind := "web"
	if strings.HasPrefix(s.Callback, "http:") {
		kind = "native" // in development; a page of the web has https
	}
	// An error may quote the answer, and with it a secret: it is told nobody.
	made, err := oauthex.RegisterClient(ctx, at.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{s.Callback}, ClientName: "svc", ApplicationType: kind, Scope: at.scope, ResponseTypes: []string{"code"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: methodOf(at.TokenEndpointAuthMethodsSupported),
	}, direct(q.http))
	if err != nil {
		return consent{}, q.failed(ctx, otherwise)
	}
	if !isToken(made.ClientID) || made.ClientSecret != "" && !isToken(made.ClientSecret) || len(made.RedirectURIs) > 0 && !slices.Contains(made.RedirectURIs, s.Callback) {
		return consent{}, otherwise
	}
	c := consent{Issuer: at.Issuer, Endpoint: at.TokenEndpoint, Resource: at.resource, tokens: tokens{Client: made.ClientID, ClientSecret: made.ClientSecret}}
	switch made.TokenEndpointAuthMethod {
	case "none", "client_secret_post":
	case "client_secret_basic", "":
		c.Basic = made.ClientSecret != ""
	default:
		return consent{}, otherwise
	}
	return c, nil
}

// methodOf is how this service proves that it is the client, of the ways that an authorization server knows.
func methodOf(known []string) string {
	for _, method := range []string{"client_secret_basic", "client_secret_post", "none"} {
		if slices.Contains(known, method) {
			return method
		}
	}
	return "client_secret_basic"
}
