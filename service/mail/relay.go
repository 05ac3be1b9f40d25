package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// relay is the mail server that takes our mails.
type relay struct {
	from     *mail.Address
	host     string
	port     int
	user     *url.Userinfo // nil: nobody signs in
	implicit bool          // TLS from the first byte
	tls      *tls.Config
	config   Config
}

var errRelay = errors.New("the mail server must be smtp://USER:PASSWORD@HOST:587 or smtps://USER:PASSWORD@HOST:465")

// ports are those of the schemes there are, where an address names none.
var ports = map[string]int{"smtp": 587, "smtps": 465}

func newRelay(c Config) (*relay, error) {
	// The error of Parse repeats what it read, and that holds a password.
	u, err := url.Parse(c.SMTP)
	if err != nil || ports[u.Scheme] == 0 || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errRelay
	}
	r := &relay{host: u.Hostname(), port: ports[u.Scheme], user: u.User, implicit: u.Scheme == "smtps", config: c}
	if u.Port() != "" {
		if r.port, err = strconv.Atoi(u.Port()); err != nil || r.port < 1 || r.port > 65535 {
			return nil, errRelay
		}
	}
	r.tls = &tls.Config{ServerName: r.host, RootCAs: c.Roots, MinVersion: tls.VersionTLS12}
	r.from, err = parseFrom(c.From, c.Brand)
	return r, err
}

// send makes one attempt. It is nil only when the server has taken the mail.
func (r *relay) send(ctx context.Context, c claimed, l letter) *trouble {
	message, err := r.message(c, l)
	if err != nil {
		return &trouble{class: unsendable, final: true}
	}
	line := line{relay: r, ctx: ctx}
	defer line.close()
	client, err := gomail.NewClient(r.host, r.options(&line)...)
	if err != nil {
		return &trouble{class: unsendable}
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return greetingTrouble(ctx, err)
	}
	err = client.SendWithSMTPClient(session, message)
	if message.IsDelivered() {
		_ = session.Quit() // whatever is answered, the mail was taken
		return nil
	}
	return sendingTrouble(ctx, err)
}

// message is the same at every attempt but for the boundary of its parts.
func (r *relay) message(c claimed, l letter) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(r.from)
	if err := m.To(l.To); err != nil {
		return nil, err
	}
	_, domain, _ := strings.Cut(r.from.Address, "@")
	m.SetMessageIDWithValue(c.Row.id + "@" + domain)
	m.SetDateWithValue(c.Created.UTC())
	m.Subject(l.Subject)
	// Nobody's vacation answers a mail that no person wrote.
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(gomail.TypeTextPlain, l.Text)
	m.AddAlternativeString(gomail.TypeTextHTML, l.HTML)
	return m, nil
}

func (r *relay) options(l *line) []gomail.Option {
	policy := gomail.TLSOpportunistic
	if r.user != nil && !r.implicit && !isLoopback(r.host) {
		policy = gomail.TLSMandatory
	}
	options := []gomail.Option{
		// The context ends an attempt, before the library would.
		gomail.WithPort(r.port), gomail.WithTimeout(2 * r.config.Timeout), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(r.tls),
		gomail.WithDialContextFunc(l.dial), gomail.WithoutRset(), gomail.WithoutNoop(), gomail.WithoutSMTPUTF8(),
	}
	if r.user != nil {
		password, _ := r.user.Password()
		// PLAIN and LOGIN speak only inside TLS, or on loopback.
		options = append(options, gomail.WithUsername(r.user.Username()), gomail.WithPassword(password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	return options
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// line is the connection of one attempt. The library forgets the context once it has dialled, and forgets a connection
// whose greeting went wrong; the line ends with the context, and at the latest with the attempt.
type line struct {
	relay *relay
	ctx   context.Context
	conn  net.Conn
	stop  func() bool
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.conn = conn
	l.stop = context.AfterFunc(l.ctx, func() { _ = conn.Close() })
	if !l.relay.implicit {
		return conn, nil
	}
	secure := tls.Client(conn, l.relay.tls)
	return secure, secure.HandshakeContext(ctx)
}

func (l *line) close() {
	if l.conn != nil {
		l.stop()
		_ = l.conn.Close()
	}
}
