// Package torture stands between a client and a server on loopback, and does to their exchanges what networks and proxies do: it cuts
// them off at a byte, lets them wait, ends them early, sends them twice. It re-orders nothing but time.
package torture

import (
	"fmt"
	"net"
	"slices"
	"sync"
)

// Exchange is one request and its answer as they passed.
type Exchange struct {
	Line     string `json:"line"`     // the first of the request
	Request  int    `json:"request"`  // bytes of it
	Answer   int    `json:"answer"`   // bytes of it, head and all
	Afflicts bool   `json:"afflicts"` // a plan was for it
}

// mostExchanges is how many of them are remembered.
const mostExchanges = 10_000

// Proxy passes connections on. Plans say what becomes of them.
type Proxy struct {
	listener net.Listener
	closing  chan struct{}
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	plans  []*Plan
	passed []*Exchange
	hits   int
	open   map[*pair]bool
}

// New listens on loopback, and passes on to a target, which is host:port.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("torture: %w", err)
	}
	p := &Proxy{listener: listener, target: target, closing: make(chan struct{}), open: map[*pair]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

// URL is where clients come to.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Close ends all connections and returns when nothing is left of them.
func (p *Proxy) Close() error {
	close(p.closing)
	err := p.listener.Close()
	p.Sever()
	p.running.Wait()
	return err
}

// Sever cuts all connections that are open.
func (p *Proxy) Sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.close()
	}
}

// Move sends connections that come from now on to another target. Those that are open stay.
func (p *Proxy) Move(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Plan adds plans; each exchange has the fate of the first that is for it.
func (p *Proxy) Plan(plans ...Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, plan := range plans {
		if err := plan.check(); err != nil {
			return fmt.Errorf("torture: %w", err)
		}
		if plan.Times == 0 {
			plan.Times = 1
		}
		p.plans = append(p.plans, &plan)
	}
	return nil
}

// Forget takes all plans back, forgets what has passed, and starts to count the hits anew.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans, p.passed, p.hits = nil, nil, 0
}

// Passed are the exchanges since Forget, oldest first.
func (p *Proxy) Passed() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Exchange, len(p.passed))
	for i, x := range p.passed {
		list[i] = *x
	}
	return list
}

// Hits is how many fates have come true since Forget.
func (p *Proxy) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// begin notes an exchange and says what becomes of it, nil for nothing.
func (p *Proxy) begin(line string) (*Exchange, *fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &Exchange{Line: line}
	p.passed = append(p.passed, x)
	if n := len(p.passed) - mostExchanges; n > 0 {
		p.passed = slices.Delete(p.passed, 0, n)
	}
	for _, plan := range p.plans {
		if plan.take(line) {
			x.Afflicts = true
			return x, plan.fate()
		}
	}
	return x, nil
}

// count adds to what has passed of an exchange.
func (p *Proxy) count(number *int, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*number += n
}

func (p *Proxy) hit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits++
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve passes a connection on until either end is gone.
func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		client.Close() // as a proxy whose server is down; the client asks again
		return
	}
	c := &pair{proxy: p, client: client.(*net.TCPConn), server: server.(*net.TCPConn), gone: make(chan struct{})}
	if !p.enter(c) {
		return
	}
	defer p.leave(c)
	var down sync.WaitGroup
	down.Go(c.answers)
	c.requests()
	down.Wait()
}

// enter notes an open connection; there are none once the proxy closes.
func (p *Proxy) enter(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closing:
		c.close()
		return false
	default:
		p.open[c] = true
		return true
	}
}

func (p *Proxy) leave(c *pair) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}
