package gateway

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
)

// Surface is one of the three faces of the service.
type Surface = access.Surface

// The surfaces there are.
const (
	Platform = access.Platform
	Agents   = access.Agents
	Admin    = access.Admin
)

// Surfaces are their addresses, without a path.
type Surfaces struct {
	Platform, Agents, Admin *url.URL
}

// origin is a surface's address as browsers name it.
func (s Surfaces) origin(of Surface) string {
	u := map[Surface]*url.URL{Platform: s.Platform, Agents: s.Agents, Admin: s.Admin}[of]
	if u == nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// origins are all three.
func (s Surfaces) origins() []string {
	return []string{s.origin(Platform), s.origin(Agents), s.origin(Admin)}
}

// find is the surface of a Host header.
func (s Surfaces) find(host string) (Surface, bool) {
	host = strings.ToLower(host)
	for of, u := range map[Surface]*url.URL{Platform: s.Platform, Agents: s.Agents, Admin: s.Admin} {
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

// misdirect refuses a host that is none of ours. In development a person who typed the machine's own name is shown the way.
func (x *exchange) misdirect() error {
	if x.g.Development && x.navigation() && isLoopback(x.r.Host) {
		return x.see(http.StatusFound, x.g.Surfaces.origin(Platform)+x.target())
	}
	return fault.New(misdirected, "This host is not served here.", "Use the address of a surface.")
}

// target is the path and the query that were asked for. A target without a path, such as "x:@host", would make another host of
// whatever it is put behind.
func (x *exchange) target() string {
	if target := x.r.URL.RequestURI(); strings.HasPrefix(target, "/") {
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

// navigation reports whether a person's browser is going somewhere, rather than a program asking.
func (x *exchange) navigation() bool {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return false
	}
	if mode := x.r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(x.r.Header.Get("Accept"), "text/html")
}
