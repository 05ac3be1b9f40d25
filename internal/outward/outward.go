// Package outward is the way to addresses that others choose: those of model servers, of MCP servers, of pages. Whatever a
// name means when it is dialled is judged then, by the address itself, so that no spelling, redirect or change of mind of a
// name server leads to what only this machine and its neighbours can reach.
package outward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrForbidden is why an address is not gone to.
var ErrForbidden = errors.New("the address is not one that may be reached from here")

// Config is what a Guard lets through. The zero value lets through every public address.
type Config struct {
	// Allow are private addresses that may be reached all the same, as host:port or as a network in CIDR form.
	Allow []string
	// Redirects is how many are followed; each is judged again, and none leads from https to http. Defaults to none: the answer
	// that redirects is the answer.
	Redirects int
	// Resolver finds the addresses of names. Defaults to the machine's own.
	Resolver *net.Resolver
	// Own are the addresses of this machine. They are refused though they may be public: what listens there is reached past every
	// firewall. Defaults to those of its interfaces.
	Own func() ([]net.Addr, error)
}

// Guard dials no address that it does not let through.
type Guard struct {
	config   Config
	places   map[string]bool // host:port
	networks []netip.Prefix
	own      *own
	client   *http.Client
}

// New reads what is allowed.
func New(c Config) (*Guard, error) {
	g := &Guard{config: c, places: map[string]bool{}, own: newOwn(c.Own)}
	for _, text := range c.Allow {
		if network, err := netip.ParsePrefix(text); err == nil {
			g.networks = append(g.networks, network.Masked())
			continue
		}
		host, port, err := net.SplitHostPort(text)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("%q is neither host:port nor a network like 10.0.0.0/8", text)
		}
		g.places[place(host, port)] = true
	}
	g.client = &http.Client{Transport: g.transport(), CheckRedirect: g.redirect}
	return g, nil
}

// Client makes requests through the guard, and shares its connections. It has no deadline of its own.
func (g *Guard) Client() *http.Client { return g.client }

// Check refuses what can be known to be wrong before anything is dialled: another scheme, a user's name, an address that is
// written out and not let through.
func (g *Guard) Check(u *url.URL) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "":
		return fmt.Errorf("%w: write https://host/…", ErrForbidden)
	case u.User != nil:
		return fmt.Errorf("%w: it holds a user's name", ErrForbidden)
	}
	address, err := netip.ParseAddr(u.Hostname())
	if err != nil || g.places[place(u.Hostname(), portOf(u))] {
		return nil
	}
	return g.judge(address)
}

// portOf is where a URL leads, written or not.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func place(host, port string) string {
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), port)
}

func (g *Guard) transport() *http.Transport {
	return &http.Transport{
		DialContext: g.dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns: 256, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, Resolver: g.config.Resolver}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if g.places[place(host, port)] {
		return d.DialContext(ctx, network, address)
	}
	d.ControlContext = g.control
	conn, err := d.DialContext(ctx, network, address)
	if _, named := netip.ParseAddr(host); named != nil && errors.Is(err, ErrForbidden) {
		return nil, nowhere(network, host)
	}
	return conn, err
}

// nowhere is the error of a name that nobody knows. A name that means a forbidden address has the same: which names there are on a
// private network is told to no one outside of it.
func nowhere(network, host string) error {
	return &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
}

// control judges the address that a name was found to mean, before a packet goes there.
func (g *Guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	found, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	return g.judge(found.Addr())
}

func (g *Guard) judge(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	if g.allows(address) {
		return nil
	}
	if !public(address) {
		return ErrForbidden
	}
	return g.own.refuse(address)
}

// Allows reports whether the operator has named the place that a URL leads to.
func (g *Guard) Allows(u *url.URL) bool {
	if g.places[place(u.Hostname(), portOf(u))] {
		return true
	}
	address, err := netip.ParseAddr(u.Hostname())
	return err == nil && g.allows(address.Unmap().WithZone(""))
}

func (g *Guard) allows(address netip.Addr) bool {
	return slices.ContainsFunc(g.networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

func (g *Guard) redirect(r *http.Request, via []*http.Request) error {
	if g.config.Redirects == 0 {
		return http.ErrUseLastResponse
	}
	if len(via) > g.config.Redirects {
		return fmt.Errorf("more than %d redirects", g.config.Redirects)
	}
	if r.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
		return fmt.Errorf("%w: a redirect leads from https to http", ErrForbidden)
	}
	return g.Check(r.URL)
}
