package doctor

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"

	"svc.dev/svc/service/config"
)

// askingMail is how long doctor waits for the mail server.
const askingMail = 3 * time.Second

// judgeMail reaches for the mail server without sending anything.
func (d *doctor) judgeMail(ctx context.Context) Finding {
	if !d.config.Mails() {
		if d.config.Surfaces().Mode() == config.Production {
			return warn("is off: nobody can prove an address or get back in with a forgotten password", "set smtp.url and smtp.from")
		}
		return fine("is off: links are printed to the log")
	}
	ctx, cancel := context.WithTimeout(ctx, askingMail)
	defer cancel()
	at, err := mailServer(d.config.SMTPURL.Reveal())
	if err == nil {
		err = reach(ctx, at)
	}
	if err != nil {
		return warn("the mail server is not reached: "+err.Error(), "check smtp.url, and that this machine may connect to it")
	}
	return fine(at + " answers")
}

// mailServer is the host and port of a mail server's address, without its user and password.
func mailServer(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", errors.New("smtp.url is not an address")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

func reach(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
