package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"time"
)

// askingMail is how long doctor waits for the mail server.
const askingMail = 3 * time.Second

// lookAtKeys reads the key ring, and compares its presence with what the database holds.
func (d *doctor) lookAtKeys() {
	if d.config.KeysRing.Reveal() != "" {
		d.add("key ring", OK, "given as SVC_KEYS", "")
		return
	}
	path := d.config.KeysFile
	ring, err := readRing(d.config)
	switch {
	case err == nil:
		d.add("key ring", OK, fmt.Sprintf("%s is this user's alone, with %d keys; it belongs into a backup of its own", path, len(ring.Kids())), "")
	case !errors.Is(err, fs.ErrNotExist):
		d.add("key ring", Fail, err.Error(), "chmod 600 "+path+", or restore the file")
	case d.sealed:
		d.add("key ring", Fail, path+" is not there, and the database holds what only its keys open", "restore the file, or give the ring as SVC_KEYS")
	default:
		d.add("key ring", OK, path+" is not there yet: svc serve makes it over an empty database", "")
	}
}

// lookAtSurfaces judges the addresses and the cookie domain as svc serve does.
func (d *doctor) lookAtSurfaces() {
	all := d.config.surfaces(portOf(d.config.Listen))
	var names []string
	for _, s := range all {
		names = append(names, s.url.String())
	}
	text := modeOf(all) + ": " + strings.Join(names, ", ")
	if err := d.config.Check(); err != nil {
		d.add("configuration", Fail, strings.ReplaceAll(err.Error(), "\n", "; "), "change what is named; svc serve refuses it")
		return
	}
	if doubt := doubtCookies(d.config.CookieDomain, all); doubt != "" {
		d.add("configuration", Warn, "nobody can stay signed in: "+doubt, "set cookie_domain to the domain that all three addresses lie below")
		return
	}
	d.add("configuration", OK, text, "")
}

// lookAtMail reaches for the mail server without sending anything.
func (d *doctor) lookAtMail(ctx context.Context) {
	if !d.config.mails() {
		if modeOf(d.config.surfaces(portOf(d.config.Listen))) == production {
			d.add("mail", Warn, "is off: nobody can prove an address or get back in with a forgotten password", "set smtp.url and smtp.from")
			return
		}
		d.add("mail", OK, "is off: links are printed to the log", "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askingMail)
	defer cancel()
	at, err := mailServer(d.config.SMTPURL.Reveal())
	if err == nil {
		err = reach(ctx, at)
	}
	if err != nil {
		d.add("mail", Warn, "the mail server is not reached: "+err.Error(), "check smtp.url, and that this machine may connect to it")
		return
	}
	d.add("mail", OK, at+" answers", "")
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
