package service

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"svc.dev/svc/service/gateway"
)

// The modes there are. In development all surfaces are http on this machine; anything else is production.
const (
	development = "development"
	production  = "production"
)

// surface is the address of one face of the service, and the key that says so.
type surface struct {
	key string
	url *url.URL
}

// surfaces are the addresses of all, the platform first. Those that were not given follow the port of the listener.
func (c Config) surfaces(port string) []surface {
	all := make([]surface, 0, 3)
	for _, s := range []struct{ key, given, host string }{
		{"url.platform", c.PlatformURL, "svc.localhost"},
		{"url.agents", c.AgentsURL, "agents.svc.localhost"},
		{"url.admin", c.AdminURL, "admin.svc.localhost"},
	} {
		if s.given == "" {
			s.given = originOf("http", s.host, port)
		}
		u, err := url.Parse(s.given)
		if err != nil {
			u = &url.URL{} // Set has refused it before; what has no host is refused by Check
		}
		all = append(all, surface{s.key, u})
	}
	return all
}

// portOf is the port of a listen address, empty where it has none.
func portOf(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return port
}

// facing is the surfaces as the front door takes them.
func facing(all []surface) gateway.Surfaces {
	return gateway.Surfaces{Platform: all[0].url, Agents: all[1].url, Admin: all[2].url}
}

// modeOf is development when every surface is http on this machine.
func modeOf(all []surface) string {
	for _, s := range all {
		if s.url.Scheme != "http" || !isLocal(s.url.Hostname()) {
			return production
		}
	}
	return development
}

// isLocal reports whether a host is this machine for every browser.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}

// outside is the first surface whose host does not lie below the domain, and nil where all do.
func outside(domain string, all []surface) *surface {
	for _, s := range all {
		if host := s.url.Hostname(); host != domain && !strings.HasSuffix(host, "."+domain) {
			return &s
		}
	}
	return nil
}

// doubtCookies says why browsers would keep no session; empty: they do. Production refuses such a domain, development does
// not.
func doubtCookies(domain string, all []surface) string {
	_, err := netip.ParseAddr(domain)
	if domain == "" || domain == "localhost" || err == nil {
		return "" // each host has a cookie of its own then
	}
	if s := outside(domain, all); s != nil {
		return fmt.Sprintf("%s of %s does not lie below cookie_domain %s", s.url.Hostname(), s.key, domain)
	}
	return ""
}
