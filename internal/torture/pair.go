package torture

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// pair is a connection from a client and the one to the server that it is passed on to.
type pair struct {
	proxy          *Proxy
	client, server *net.TCPConn
	once           sync.Once
	gone           chan struct{}

	mu   sync.Mutex // of the exchange that is under way; there is one at a time
	x    *Exchange
	fate *fate
	sent []byte // the request, where it is to be sent twice
	head []byte // how the answer begins
	line []byte // a first line that has not come whole
}

// close ends both connections, once.
func (c *pair) close() {
	c.once.Do(func() {
		close(c.gone)
		c.client.Close()
		c.server.Close()
	})
}

// requests passes on what the client sends. A client that is gone takes its connection with it.
func (c *pair) requests() {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.client.Read(buffer)
		if n > 0 && !c.request(buffer[:n]) {
			return
		}
		if err != nil {
			return
		}
	}
}

// request passes on a piece of a request, and reports whether the connection goes on.
func (c *pair) request(data []byte) bool {
	c.mu.Lock()
	if c.x == nil || len(c.head) > 0 && !isContinue(c.head) {
		c.line = append(c.line, data...)
		first, _, whole := bytes.Cut(c.line, []byte("\r\n"))
		if !whole && len(c.line) < 64<<10 {
			c.mu.Unlock()
			return true // it is known by its first line
		}
		c.x, c.fate = c.proxy.begin(string(first))
		data, c.line, c.head, c.sent = c.line, nil, nil, nil
	}
	x, f := c.x, c.fate
	if f != nil && f.Do == Duplicate {
		c.sent = append(c.sent, data...)
	}
	c.mu.Unlock()
	return c.pass(data, c.server, c.client, &x.Request, Request, f)
}

const continues = "HTTP/1.1 100 Continue\r\n\r\n"

// isContinue reports whether an answer has only asked for the rest of the request.
func isContinue(head []byte) bool { return string(head) == continues }

// answers passes on what the server sends.
func (c *pair) answers() {
	defer c.close()
	buffer := make([]byte, 32<<10)
	var held []byte
	for {
		n, err := c.server.Read(buffer)
		if n > 0 {
			x, f := c.answer(buffer[:n])
			if f != nil && f.Do == Hold {
				if held = append(held, buffer[:n]...); len(held) > 64<<20 {
					return
				}
			} else if !c.pass(buffer[:n], c.client, c.server, &x.Answer, Answer, f) {
				return
			}
		}
		if err != nil {
			_, _ = c.client.Write(held)
			return
		}
	}
}

// answer notes a piece of an answer. The first of it tells that the request is whole.
func (c *pair) answer(data []byte) (*Exchange, *fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.x == nil { // a server that speaks first, as one that has no patience
		c.x = &Exchange{}
	}
	first := len(c.head) == 0
	if len(c.head) <= len(continues) {
		c.head = append(c.head, data[:min(len(data), len(continues)+1)]...)
	}
	f := c.fate
	if first && f != nil && (f.Do == Hold || f.Do == Duplicate) {
		f.done.Store(true)
		c.proxy.hit()
		if sent := c.sent; f.Do == Duplicate {
			c.proxy.running.Go(func() { c.proxy.again(sent, c.server.RemoteAddr().String()) })
		}
	}
	return c.x, f
}

// pass writes a piece to its receiver, and does what is planned in the middle of it. It reports whether the direction goes on.
func (c *pair) pass(data []byte, to, from *net.TCPConn, counted *int, direction string, f *fate) bool {
	for f.awaits(direction) {
		n := min(len(data), f.at-*counted)
		if !c.write(to, data[:n], counted) {
			return false
		}
		if data = data[n:]; *counted < f.at {
			return true
		}
		f.done.Store(true)
		c.proxy.hit()
		if !c.befall(f, to, from) {
			return false
		}
	}
	if f.trickles(direction) {
		for i := range data {
			if !c.write(to, data[i:i+1], counted) {
				return false
			}
		}
		return true
	}
	return c.write(to, data, counted)
}

// write counts a piece before it is sent: who has received it finds it counted.
func (c *pair) write(to *net.TCPConn, data []byte, counted *int) bool {
	if len(data) == 0 {
		return true
	}
	c.proxy.count(counted, len(data))
	n, err := to.Write(data)
	c.proxy.count(counted, n-len(data))
	return err == nil
}

// befall does what is planned, and reports whether the direction goes on.
func (c *pair) befall(f *fate, to, from *net.TCPConn) bool {
	switch f.Do {
	case Delay:
		return c.wait(f.lasts())
	case Stall:
		c.wait(f.lasts())
		return false
	case Truncate:
		_ = to.CloseWrite()
		_, _ = io.Copy(io.Discard, from)
		<-c.gone // the other direction ends it
		return false
	case Reset:
		_ = c.client.SetLinger(0)
		return false
	case Cut:
		return false
	}
	return true
}

// wait reports whether the connection is still there afterwards.
func (c *pair) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.gone:
		return false
	}
}

// again sends a request once more, on a connection of its own, and hears what is answered without telling.
func (p *Proxy) again(request []byte, target string) {
	server, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		return
	}
	done := make(chan struct{})
	defer close(done)
	p.running.Go(func() {
		select {
		case <-p.closing:
		case <-done:
		}
		server.Close()
	})
	if _, err := server.Write(request); err != nil {
		return
	}
	_ = server.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, server)
}
