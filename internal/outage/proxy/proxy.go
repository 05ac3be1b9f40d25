// Package proxy stands between a client and PostgreSQL and does to their connections what networks do: it holds bytes back,
// loses them, cuts connections in the middle, refuses new ones, or is not there at all. It knows where messages begin and
// end, so that an answer can be lost whose question was obeyed.
package proxy

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/outage/loopback"
)

// Side is an end of a connection, or both.
type Side uint8

// The sides of a connection.
const (
	Client Side = 1 << iota
	Server
	Both = Client | Server
)

// Rule is how bytes are treated. The zero Rule passes them on.
type Rule struct {
	Hold    Side          // bytes of these sides wait until another rule lets them go on
	Lose    Side          // bytes of these sides are taken and never arrive; the connection stays open, and of no use
	Delay   time.Duration // before bytes go on
	Foreign bool          // the server's texts for people are in another language
}

// Ending is how a connection is cut.
type Ending uint8

// The ways to cut a connection.
const (
	Reset  Ending = iota // at once, as by a machine that lost its memory
	Finish               // as by a program that closed it
)

// Proxy listens on loopback for one server.
type Proxy struct {
	server   string // host:port
	url      url.URL
	entrance entrance

	mu     sync.Mutex
	closed bool
	rule   Rule
	conns  []*Conn
	losses loss
	lost   atomic.Int64 // answers to commits
	work   sync.WaitGroup
}

// loss is which answers to commits are lost.
type loss struct {
	left  int
	match func(statement string) bool
}

// Start begins a proxy for the server of a PostgreSQL address, which is a URL. It ends with the test.
func Start(t testing.TB, address string) *Proxy {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("address of PostgreSQL is not a URL")
	}
	p := &Proxy{url: *u, server: u.Host}
	if u.Port() == "" {
		p.server = net.JoinHostPort(u.Hostname(), "5432")
	}
	if p.entrance.port, err = loopback.Reserve(); err != nil {
		t.Fatalf("proxy: %v", err)
	}
	t.Cleanup(p.Close)
	if err := p.Open(); err != nil {
		t.Fatalf("proxy: %v", err)
	}
	return p
}

// Host is where the proxy listens, as host:port.
func (p *Proxy) Host() string { return p.entrance.port.Address() }

// Address is the server's address by way of the proxy.
func (p *Proxy) Address() string { return Via(p.url.String(), p.Host()) }

// Via is an address with other hosts, each as host:port; where the first is not there a client tries the next.
func Via(address string, hosts ...string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Host = strings.Join(hosts, ",")
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String()
}

// Apply puts every connection under a rule, those too that come later.
func (p *Proxy) Apply(r Rule) {
	p.mu.Lock()
	p.rule = r
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, c := range conns {
		c.Apply(r)
	}
}

// Heal lets everything pass and everybody in. What was held goes on; what lost bytes stays of no use.
func (p *Proxy) Heal() {
	p.Apply(Rule{})
	if err := p.Open(); err != nil {
		panic(fmt.Sprintf("proxy: %v", err))
	}
}

// Cut ends every connection there is.
func (p *Proxy) Cut(how Ending) {
	for _, c := range p.Conns() {
		c.Cut(how)
	}
}

// LoseCommits cuts, as many times as it says, a connection whose server has committed, before any word of it comes to the
// client. Where match is given, only transactions count that ran a statement it matches.
func (p *Proxy) LoseCommits(times int, match func(statement string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losses.left, p.losses.match = times, match
}

// LostCommits is how many answers to commits were lost so far.
func (p *Proxy) LostCommits() int { return int(p.lost.Load()) }

// takeLoss reports whether the answer to a transaction of these statements is to be lost.
func (p *Proxy) takeLoss(statements []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.losses.left == 0 || p.losses.match != nil && !slices.ContainsFunc(statements, p.losses.match) {
		return false
	}
	p.losses.left--
	return true
}

// Conns are the connections there are.
func (p *Proxy) Conns() []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.conns)
}

// Open lets new connections in.
func (p *Proxy) Open() error { return p.entrance.open(p.accept) }

// Refuse turns new connections away, as a machine does on which nothing listens.
func (p *Proxy) Refuse() error { return p.entrance.refuse() }

// Vanish loses all bytes of the connections there are and lets nobody know that new ones are not heard: as an address does
// behind which the machine is gone.
func (p *Proxy) Vanish() error {
	p.Apply(Rule{Lose: Both})
	return p.entrance.vanish()
}

// Close ends the proxy and every connection.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.entrance.close()
	p.Cut(Reset)
	p.work.Wait()
}

// accept makes a client's connection one to the server.
func (p *Proxy) accept(client net.Conn) {
	c := &Conn{proxy: p, client: client, changed: make(chan struct{}), ended: make(chan struct{})}
	c.status.Store(idle)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(client)
		return
	}
	c.rule = p.rule
	p.conns = append(p.conns, c)
	p.work.Go(func() {
		c.serve(p.server)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conns = slices.DeleteFunc(p.conns, func(other *Conn) bool { return other == c })
	})
}
