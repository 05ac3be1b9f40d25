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

	"svc.dev/svc/service/secret"
)

// askingMail is how long doctor waits for the mail server.
const askingMail = 3 * time.Second

// lookAtKeys reads the key ring, and sees whether it opens what the database holds.
func (d *doctor) lookAtKeys(ctx context.Context) {
	if !d.faces() {
		return // a runtime alone has no keys
	}
	path := d.config.KeysFile
	ring, err := readRing(d.config)
	switch {
	case err == nil && d.config.KeysRing.Reveal() != "":
		d.add("key ring", OK, fmt.Sprintf("given as SVC_KEYS, with %d keys", len(ring.Kids())), "")
	case err == nil:
		d.add("key ring", OK, fmt.Sprintf("%s is this user's alone, with %d keys; it belongs into a backup of its own", path, len(ring.Kids())), "")
	case !errors.Is(err, fs.ErrNotExist):
		d.add("key ring", Fail, err.Error(), "chmod 600 "+path+", or restore the file")
		return
	case d.sealed(ctx):
		d.add("key ring", Fail, path+" is not there, and the database holds what only its keys open", "restore the file, or give the ring as SVC_KEYS")
		return
	default:
		d.add("key ring", OK, path+" is not there yet: svc "+d.parts[0].name+" makes it over an empty database", "")
		return
	}
	d.lookAtSecrets(ctx, ring)
}

// sealed reports whether the database was seen to hold what only its key ring opens. Where the tables of secrets are not there
// yet, there are none.
func (d *doctor) sealed(ctx context.Context) bool {
	if d.db == nil {
		return false
	}
	empty, err := secret.Empty(ctx, d.db)
	return err == nil && !empty
}

func (d *doctor) lookAtSecrets(ctx context.Context, ring *secret.Ring) {
	if !d.sealed(ctx) {
		return
	}
	if err := secret.Prove(ctx, d.db, ring); err != nil {
		d.add("secrets", Fail, err.Error(), "give the key ring that belongs to this database, as keys.file or SVC_KEYS")
		return
	}
	d.add("secrets", OK, "the key ring opens what the database holds", "")
}

// lookAtConfiguration judges the addresses and the cookie domain as svc serve does, one after the other.
func (d *doctor) lookAtConfiguration() {
	all := d.config.surfaces(portOf(d.config.Listen))
	mode := modeOf(all)
	d.judgeRule("hosts", checkDistinct(all), hostsOf(all)+" are three", "give each surface a host of its own: a cookie knows no port")
	if mode == production {
		d.judgeRule("https", checkSecure(all), "production: all three addresses are https", "write https:// addresses, and let a proxy end TLS")
		d.judgeRule("cookie_domain", checkCookieDomain(d.config.CookieDomain, all), "all hosts lie below "+d.config.CookieDomain, "set it to the domain that all three addresses lie below")
	} else {
		d.add("https", OK, "development: all three addresses are http on this machine", "")
		d.judgeCookies(all)
	}
	for _, p := range d.parts {
		d.judgeRule("configuration", d.restOf(p, all), "svc "+p.name+" takes it", "change what is named; svc "+p.name+" refuses it")
	}
}

// judgeRule is a finding about a rule that svc serve has too.
func (d *doctor) judgeRule(name string, broken error, good, mend string) {
	if broken != nil {
		d.add(name, Fail, lined(broken), mend)
		return
	}
	d.add(name, OK, good, "")
}

func hostsOf(all []surface) string {
	var names []string
	for _, s := range all {
		names = append(names, s.url.Hostname())
	}
	return strings.Join(names, ", ")
}

// judgeCookies doubts a cookie domain that development takes.
func (d *doctor) judgeCookies(all []surface) {
	if doubt := doubtCookies(d.config.CookieDomain, all); doubt != "" {
		d.add("cookie_domain", Warn, "nobody can stay signed in: "+doubt, "set it to the domain that all three addresses lie below")
		return
	}
	d.add("cookie_domain", OK, d.config.CookieDomain+" fits all three hosts", "")
}

// restOf is what a part refuses beside what has a finding of its own.
func (d *doctor) restOf(p part, all []surface) error {
	wrong := []error{d.config.checkMail(all), d.config.checkGitHub(), d.config.checkLimits()}
	if p != whole {
		wrong = append(wrong, p.checkDatabase(d.config))
	}
	return errors.Join(wrong...)
}

// lookAtMail reaches for the mail server without sending anything.
func (d *doctor) lookAtMail(ctx context.Context) {
	if !d.faces() {
		return
	}
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
