package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The modes there are. In development all surfaces are http on this machine; anything else is production.
const (
	Development = "development"
	Production  = "production"
)

// Surface is the address of one face of the service, and the key that says so.
type Surface struct {
	Key string
	URL *url.URL
}

// Surfaces are the addresses of all: platform, agents and admin.
type Surfaces []Surface

// Surfaces are where the configuration says that the service is reached.
func (c Config) Surfaces() Surfaces { return c.SurfacesAt(c.Listen) }

// SurfacesAt are those of a service that listens at an address: what was not given follows its port.
func (c Config) SurfacesAt(listen string) Surfaces {
	all := make(Surfaces, 0, 3)
	_, port, _ := net.SplitHostPort(listen) // what has none is of the scheme's own
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
			u = &url.URL{} // Set has refused it before; what has no host is refused by check
		}
		all = append(all, Surface{s.key, u})
	}
	return all
}

// Mode is Development when every surface is http on this machine.
func (all Surfaces) Mode() string {
	if slices.ContainsFunc(all, func(s Surface) bool { return s.URL.Scheme != "http" || !IsLocal(s.URL.Hostname()) }) {
		return Production
	}
	return Development
}

// IsLocal reports whether a host is this machine for every browser.
func IsLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}

// outside is the first surface whose host does not lie below the domain, and nil where all do.
func (all Surfaces) outside(domain string) *Surface {
	for _, s := range all {
		if host := s.URL.Hostname(); host != domain && !strings.HasSuffix(host, "."+domain) {
			return &s
		}
	}
	return nil
}

// DoubtCookies says why browsers would keep no session; empty: they do. Production refuses such a domain, development does
// not.
func (all Surfaces) DoubtCookies(domain string) string {
	_, err := netip.ParseAddr(domain)
	if domain == "" || domain == "localhost" || err == nil {
		return "" // each host has a cookie of its own then
	}
	if s := all.outside(domain); s != nil {
		return fmt.Sprintf("%s of %s does not lie below cookie_domain %s", s.URL.Hostname(), s.Key, domain)
	}
	return ""
}
