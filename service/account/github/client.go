// Package github speaks the protocol of a GitHub App: how the app comes to be, how a person signs in with it, which
// repositories it may touch, and what GitHub tells it. It keeps nothing: the caller owns state, sessions and secrets.
//
// A question is asked once, for ten seconds, of a server that may be wrong: an answer that is too long, cut off, moved
// elsewhere or not what was promised is a failure of GitHub's, never a guess of ours. A failure is a fault.Error whose text
// and causes hold no token, no code and nothing that GitHub wrote.
package github

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config says which GitHub is spoken to.
type Config struct {
	// URL is where people go. Defaults to https://github.com.
	URL string
	// APIURL is where programs go. Defaults to what belongs to URL: api.github.com, HOST/api/v3 or api.SUB.ghe.com.
	APIURL string
	// Timeout is how long an answer may take. Defaults to 10 seconds.
	Timeout time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Client speaks to one GitHub. It is safe for concurrent use.
type Client struct {
	web, api *url.URL
	server   bool // an Enterprise Server
	pages    *http.Client
	rest     *http.Client
	now      func() time.Time
}

// New makes a client. It refuses addresses that tokens must not travel to: plain http beyond this machine, and an API that
// belongs to another GitHub than the pages.
func New(c Config) (*Client, error) {
	web, err := parseBase(cmp.Or(c.URL, "https://github.com"))
	if err != nil {
		return nil, fmt.Errorf("github url: %w", err)
	}
	if web.Path != "" {
		return nil, errors.New("github url: has a path")
	}
	api, err := parseBase(cmp.Or(c.APIURL, apiOf(web)))
	if err != nil {
		return nil, fmt.Errorf("github api url: %w", err)
	}
	if !belong(api, web) {
		return nil, errors.New("github api url: belongs to another GitHub than the url")
	}
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Client{
		web: web, api: api, now: c.Now, server: !public(web) && !resident(web),
		pages: guarded(c.Timeout, "application/json"),
		rest:  guarded(c.Timeout, "application/vnd.github+json"),
	}, nil
}

// Host is the name of the GitHub spoken to, the issuer of every identity that comes from it.
func (c *Client) Host() string { return c.web.Host }

// Origin is where the browser is sent, for a policy that must name it.
func (c *Client) Origin() string { return c.web.Scheme + "://" + c.web.Host }

func public(web *url.URL) bool   { return web.Host == "github.com" }
func resident(web *url.URL) bool { return strings.HasSuffix(web.Host, ".ghe.com") }

// apiOf is the address of the API that belongs to an address of pages.
func apiOf(web *url.URL) string {
	if public(web) || resident(web) {
		return "https://api." + web.Host
	}
	return web.Scheme + "://" + web.Host + "/api/v3"
}

// belong reports whether an API is not known to be that of another GitHub.
func belong(api, web *url.URL) bool {
	if public(web) || resident(web) {
		return api.Host == "api."+web.Host
	}
	return api.Host != "api.github.com" && !resident(api)
}

// parseBase reads an address that paths are appended to.
func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(s, "/"))
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "":
		return nil, errors.New("is not a plain address such as https://github.com")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, errors.New("is not https")
	}
	u.Host = strings.ToLower(u.Host)
	if u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	return u, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// unreachable reports whether GitHub cannot deliver to a host, for it stands in a network of its own.
func unreachable(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return !ip.IsGlobalUnicast() || ip.IsPrivate()
	}
	if loopback(host) || !strings.Contains(strings.Trim(host, "."), ".") {
		return true
	}
	host = "." + strings.ToLower(strings.TrimSuffix(host, "."))
	private := []string{".local", ".internal", ".test", ".invalid", ".lan", ".home.arpa"}
	return slices.ContainsFunc(private, func(top string) bool { return strings.HasSuffix(host, top) })
}

// page is an address for a browser: the parts of a path, each escaped, and a query.
func (c *Client) page(query url.Values, parts ...string) string {
	address := c.Origin()
	for _, part := range parts {
		address += "/" + url.PathEscape(part)
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}
