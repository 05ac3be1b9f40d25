package mailtest

import (
	"bytes"
	"io"
	"net"
	"strings"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// session is one connection.
type session struct {
	server   *Server
	conn     net.Conn
	signedIn bool
	from     string
	to       []string
}

var _ smtp.AuthSession = (*session)(nil)

func (s *Server) session(c *smtp.Conn) (smtp.Session, error) {
	if err := s.refusal(Hello, c.Hostname()); err != nil {
		return nil, err
	}
	return &session{server: s, conn: c.Conn()}, nil
}

// refusal takes the next code that waits at a stage. Its text repeats what it is about, as those of servers do.
func (s *Server) refusal(at Stage, about string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	codes := s.refusals[at]
	if len(codes) == 0 {
		return nil
	}
	s.refusals[at] = codes[1:]
	class := codes[0] / 100
	return &smtp.SMTPError{Code: codes[0], EnhancedCode: smtp.EnhancedCode{class, 0, 0}, Message: "<" + about + "> refused"}
}

func (c *session) AuthMechanisms() []string {
	if c.server.options.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		c.signedIn = user == c.server.options.User && password == c.server.options.Password
		if !c.signedIn {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	if c.server.options.User != "" && !c.signedIn {
		return smtp.ErrAuthRequired
	}
	c.from = from
	return c.server.refusal(Sender, from)
}

func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = append(c.to, to)
	return c.server.refusal(Recipient, to)
}

func (c *session) Data(r io.Reader) error {
	drop, lose, delay := c.server.fate()
	if drop {
		_, _ = io.ReadFull(r, make([]byte, 100))
		return c.hangUp()
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.server.hear()
	select {
	case <-time.After(delay):
	case <-c.server.over:
	}
	if err := c.server.refusal(Data, strings.Join(c.to, ",")); err != nil {
		return err
	}
	m, err := read(bytes.Clone(raw))
	if err != nil {
		return err
	}
	m.Sender, m.To = c.from, c.to
	c.server.take(m)
	if lose {
		return c.hangUp()
	}
	return nil
}

func (c *session) hangUp() error {
	_ = c.conn.Close()
	return io.ErrUnexpectedEOF
}

func (c *session) Reset()        { c.from, c.to = "", nil }
func (c *session) Logout() error { return nil }

// fate says what shall become of the next mail.
func (s *Server) fate() (drop, lose bool, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drops > 0 {
		s.drops--
		return true, false, 0
	}
	if s.losses > 0 {
		s.losses--
		return false, true, s.delay
	}
	return false, false, s.delay
}

func (s *Server) hear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard++
	s.tell()
}

func (s *Server) take(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
	s.tell()
}
