// Package mailtest is a mail server for tests. It keeps what it is sent, and fails in the ways that mail servers do.
package mailtest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// TLS is how a server secures its connections.
type TLS int

// The ways there are.
const (
	Plain    TLS = iota // not at all
	StartTLS            // when the client asks for it
	Implicit            // from the first byte
)

// Stage is a moment of the exchange at which a server may refuse.
type Stage int

// The stages there are.
const (
	Hello     Stage = iota // the greeting
	Sender                 // MAIL FROM
	Recipient              // RCPT TO
	Data                   // after the whole message
)

// Options are the choices of a server; the zero value takes everything from everybody.
type Options struct {
	// User and Password must be given by whoever sends, where they are set.
	User, Password string
	// TLS needs a client that believes Roots. Defaults to Plain.
	TLS TLS
}

// Server is a mail server on loopback.
type Server struct {
	options Options
	address string
	roots   *x509.CertPool
	over    <-chan struct{} // when the test ends

	mu       sync.Mutex
	messages []Message
	taken    map[int]bool // by Next
	refusals map[Stage][]int
	drops    int
	losses   int
	delay    time.Duration
	heard    int
	moved    chan struct{} // closed and replaced when something arrives
}

// Start runs a server until the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	s := &Server{options: o, address: listener.Addr().String(), over: t.Context().Done(), taken: map[int]bool{}, refusals: map[Stage][]int{}, moved: make(chan struct{})}
	server := smtp.NewServer(smtp.BackendFunc(s.session))
	server.Domain = "localhost"
	server.AllowInsecureAuth = true
	server.ErrorLog = log.New(io.Discard, "", 0)
	if o.TLS != Plain {
		// httptest has a certificate for loopback that nobody else believes.
		other := httptest.NewTLSServer(nil)
		defer other.Close()
		s.roots = x509.NewCertPool()
		s.roots.AddCert(other.Certificate())
		server.TLSConfig = &tls.Config{Certificates: other.TLS.Certificates, MinVersion: tls.VersionTLS12}
	}
	if o.TLS == Implicit {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return s
}

// URL is the address of the server, with the password if it needs one.
func (s *Server) URL() string {
	u := url.URL{Scheme: "smtp", Host: s.address}
	if s.options.TLS == Implicit {
		u.Scheme = "smtps"
	}
	if s.options.User != "" {
		u.User = url.UserPassword(s.options.User, s.options.Password)
	}
	return u.String()
}

// Roots are the certificates by which the server is believed; nil without TLS.
func (s *Server) Roots() *x509.CertPool { return s.roots }

// Refuse answers the next n mails with a code at a stage: 451 puts them off, 550 refuses them for good.
func (s *Server) Refuse(at Stage, code, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[at] = append(s.refusals[at], slices.Repeat([]int{code}, n)...)
}

// Drop cuts the connection of the next n mails in the middle of their text.
func (s *Server) Drop(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops += n
}

// Lose takes the next n mails and cuts their connection before it says so.
func (s *Server) Lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losses += n
}

// Delay makes the server think so long about every mail that it has heard.
func (s *Server) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Heard is how many mails the server heard to their end, taken or not.
func (s *Server) Heard() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

// Messages are the mails that were taken, in their order.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Wait returns the mails when there are n of them, and fails the test when that takes 15 seconds.
func (s *Server) Wait(t testing.TB, n int) []Message {
	t.Helper()
	s.until(t, fmt.Sprintf("%d mails", n), func() bool { return len(s.messages) >= n })
	return s.Messages()
}

// WaitHeard returns when the server has heard n mails to their end, whether or not it takes them.
func (s *Server) WaitHeard(t testing.TB, n int) {
	t.Helper()
	s.until(t, fmt.Sprintf("the text of %d mails", n), func() bool { return s.heard >= n })
}

// Next waits for the first mail to an address that Next has not returned yet.
func (s *Server) Next(t testing.TB, to string) Message {
	t.Helper()
	var found Message
	s.until(t, "a mail to "+to, func() bool {
		for i, m := range s.messages {
			if !s.taken[i] && slices.Contains(m.To, to) {
				s.taken[i], found = true, m
				return true
			}
		}
		return false
	})
	return found
}

// until waits for what is asked under the lock.
func (s *Server) until(t testing.TB, what string, done func() bool) {
	t.Helper()
	timeout := time.After(15 * time.Second)
	for {
		s.mu.Lock()
		ok, moved := done(), s.moved
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-moved:
		case <-timeout:
			t.Fatalf("the mail server waited in vain for %s", what)
		}
	}
}

// tell wakes whoever waits; the lock is held.
func (s *Server) tell() {
	close(s.moved)
	s.moved = make(chan struct{})
}
