// Package surface is what any request to a surface goes through before anybody is asked who they are, and how it is answered:
// hosts, paths, origins, client addresses, cookies, bodies and the envelope of refusals.
package surface

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
)

// Surfaces are the addresses of the three, without a path.
type Surfaces struct {
	Platform, Agents, Admin *url.URL
}

// all are the addresses by their surface.
func (s Surfaces) all() map[access.Surface]*url.URL {
	return map[access.Surface]*url.URL{access.Platform: s.Platform, access.Agents: s.Agents, access.Admin: s.Admin}
}

// Origin is a surface's address as browsers name it.
func (s Surfaces) Origin(of access.Surface) string {
	u := s.all()[of]
	if u == nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Origins are all three.
func (s Surfaces) Origins() []string {
	return []string{s.Origin(access.Platform), s.Origin(access.Agents), s.Origin(access.Admin)}
}

// find is the surface of a Host header.
func (s Surfaces) find(host string) (access.Surface, bool) {
	host = strings.ToLower(host)
	for of, u := range s.all() {
		if u != nil && (host == u.Host || withPort(host, u.Scheme) == withPort(u.Host, u.Scheme)) {
			return of, true
		}
	}
	return "", false
}

// withPort names the port that the scheme means.
func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if scheme == "https" {
		return host + ":443"
	}
	return host + ":80"
}

// Misdirect refuses a host that is none of ours. In development a person who typed the machine's own name is shown the way.
func (x *Exchange) Misdirect() error {
	if x.config.Development && x.Navigation() && isLoopback(x.Request.Host) {
		return x.See(http.StatusFound, x.config.Surfaces.Origin(access.Platform)+x.Target())
	}
	return fault.New(fault.Misdirected, "This host is not served here.", "Use the address of a surface.")
}

// Target is the path and the query that were asked for. A target without a path, such as "x:@host", would make another host of
// whatever it is put behind.
func (x *Exchange) Target() string {
	if target := x.Request.URL.RequestURI(); strings.HasPrefix(target, "/") {
		return target
	}
	return "/"
}

func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}

// Navigation reports whether a person's browser is going somewhere, rather than a program asking.
func (x *Exchange) Navigation() bool {
	return (x.Request.Method == http.MethodGet || x.Request.Method == http.MethodHead) && x.ReadsPages()
}

// ReadsPages reports whether a person's browser waits for the answer, by whatever method.
func (x *Exchange) ReadsPages() bool {
	if mode := x.Request.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(x.Request.Header.Get("Accept"), "text/html")
}
