// Package certificate is what a service shows browsers that come without a proxy: certificates of files, or of an authority that is
// asked by ACME.
package certificate

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Config says where certificates come from: from Cert and Key, or from the authority ACME.
type Config struct {
	// Cert and Key are files in PEM: the certificate with those that vouch for it, and its key.
	Cert, Key string
	// ACME is the address of an authority's directory. Folder holds what it gave.
	ACME, Folder string
	// Hosts are the names that are served: files have to be for all of them, and an authority is asked for no other.
	Hosts []string
	// Log hears of what could not be renewed. Defaults to slog.Default.
	Log *slog.Logger
}

// Certificates are those of one service.
type Certificates struct {
	config  *tls.Config
	manager *autocert.Manager // nil: they are files
	hosts   []string
	log     *slog.Logger
}

// Open reads the files, or prepares to ask. A file that cannot be used, or is for none of the names, is refused at once.
func Open(c Config) (*Certificates, error) {
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.ACME != "" {
		return ask(c), nil
	}
	f := &files{cert: c.Cert, key: c.Key, hosts: c.Hosts, log: c.Log}
	if err := f.load(time.Now()); err != nil {
		return nil, err
	}
	return &Certificates{config: &tls.Config{GetCertificate: f.certificate, NextProtos: protocols, MinVersion: tls.VersionTLS12}}, nil
}

// protocols are what browsers may speak.
var protocols = []string{"h2", "http/1.1"}

// ask gets certificates when somebody asks for a name, and renews them. The operator agrees to the terms of
// the authority by naming it.
func ask(c Config) *Certificates {
	m := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.Folder), HostPolicy: autocert.HostWhitelist(c.Hosts...),
		Client: &acme.Client{DirectoryURL: c.ACME, UserAgent: "svc"},
	}
	return &Certificates{
		manager: m, hosts: c.Hosts, log: c.Log,
		config: &tls.Config{GetCertificate: m.GetCertificate, NextProtos: append(protocols, acme.ALPNProto), MinVersion: tls.VersionTLS12},
	}
}

// TLS is how connections are sealed.
func (c *Certificates) TLS() *tls.Config { return c.config }

// Run asks for all names, so that the first browser need not wait: an authority takes longer than a browser does. What fails is asked for
// again by whoever comes.
func (c *Certificates) Run(ctx context.Context) error {
	if c.manager == nil {
		return nil
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for _, host := range c.hosts {
			c.obtain(ctx, host)
		}
	}()
	select {
	case <-asked:
	case <-ctx.Done(): // nobody waits for an authority when the service stops
	}
	return nil
}

func (c *Certificates) obtain(ctx context.Context, host string) {
	if ctx.Err() != nil {
		return
	}
	if _, err := c.manager.GetCertificate(modern(host)); err != nil && ctx.Err() == nil {
		c.log.Error("the authority gave no certificate", "host", host, "error", err)
	}
}

// modern is a browser of today, that takes keys on elliptic curves.
func modern(host string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	}
}

// Answer answers an authority that looks over plain HTTP who has a name, and leaves everything else to next.
func (c *Certificates) Answer(next http.Handler) http.Handler {
	if c.manager == nil {
		return next
	}
	return c.manager.HTTPHandler(next)
}

// lookAgain is how often files are looked at whether they are others: whoever renews them need not tell us.
const lookAgain = time.Minute

// files are a certificate and its key.
type files struct {
	cert, key string
	hosts     []string
	log       *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	read   stamps // when those were written that pair is of
	looked time.Time
}

// certificate is what the files hold. Ones that cannot be used any more are told of, and those that were read before stay.
func (f *files) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.renew(time.Now()); err != nil {
		f.log.Error("the certificate was not renewed, the old one stays in use", "error", err)
	}
	return f.pair, nil
}

// renew looks at the files when they were not looked at for long.
func (f *files) renew(now time.Time) error {
	if now.Sub(f.looked) < lookAgain {
		return nil
	}
	return f.load(now)
}

// load reads the files if they have changed, and takes only what browsers take.
func (f *files) load(now time.Time) error {
	f.looked = now
	stamp, err := writtenAt(f.cert, f.key)
	if err != nil || stamp == f.read {
		return err
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("tls.cert, tls.key: %w", err)
	}
	if err := fits(pair.Leaf, f.hosts, now); err != nil {
		return err
	}
	f.pair, f.read = &pair, stamp
	return nil
}

// stamps is when a certificate and its key were written, in nanoseconds.
type stamps struct{ cert, key int64 }

func writtenAt(cert, key string) (at stamps, err error) {
	for path, to := range map[string]*int64{cert: &at.cert, key: &at.key} {
		info, err := os.Stat(path)
		if err != nil {
			return at, fmt.Errorf("tls.cert, tls.key: %w", err)
		}
		*to = info.ModTime().UnixNano()
	}
	return at, nil
}

// fits refuses a certificate that browsers would refuse at one of the names.
func fits(leaf *x509.Certificate, hosts []string, now time.Time) error {
	var wrong []error
	for _, host := range hosts {
		if err := leaf.VerifyHostname(host); err != nil {
			wrong = append(wrong, fmt.Errorf("tls.cert: it is not for %s: get one that names the hosts of all three surfaces", host))
		}
	}
	if now.After(leaf.NotAfter) {
		wrong = append(wrong, fmt.Errorf("tls.cert: it ended on %s: renew it", leaf.NotAfter.Format(time.DateOnly)))
	}
	if now.Before(leaf.NotBefore) {
		wrong = append(wrong, fmt.Errorf("tls.cert: it begins only at %s: set the clock, or wait", leaf.NotBefore.Format(time.RFC3339)))
	}
	return errors.Join(wrong...)
}
