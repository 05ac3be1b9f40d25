package peers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"svc.dev/svc/service/config"
	"svc.dev/svc/service/servicetest"
)

// TestAnAuthorityGivesCertificates starts the product with nothing but the address of an ACME server, which looks who has the names before
// it signs. What it gave is kept: a second start does not ask again.
func TestAnAuthorityGivesCertificates(t *testing.T) {
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	c := servicetest.Config(t)
	c.Listen, c.ListenTLS = freeAddress(t), freeAddress(t)
	c.PlatformURL, c.AgentsURL, c.AdminURL, c.CookieDomain = "https://example.com", "https://agents.example.com", "https://admin.example.com", "example.com"
	authority := newAuthority(t, c)
	c.TLSACME = authority.directory

	s := servicetest.Start(t, c)
	serials := map[string]string{}
	for _, host := range []string{"example.com", "agents.example.com", "admin.example.com"} {
		serials[host] = authority.ask(t, s.Address, host)
	}
	if _, err := authority.dial(s.Address, "elsewhere.example.org"); err == nil {
		t.Error("a certificate was asked for a name that is not ours")
	}
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Fatal(err)
	}
	s = servicetest.Start(t, c)
	for host, serial := range serials {
		if got := authority.ask(t, s.Address, host); got != serial {
			t.Errorf("%s: asked again: %s, before %s", host, got, serial)
		}
	}
}

// authority is Pebble, which believes nobody: it looks at the addresses of the service itself.
type authority struct {
	directory string
	roots     *x509.CertPool
}

func newAuthority(t *testing.T, c config.Config) *authority {
	t.Helper()
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	signer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "the only one"}})
	looks := va.New(quiet, portOf(t, c.Listen), portOf(t, c.ListenTLS), false, newNames(t), store)
	front := wfe.New(quiet, store, looks, signer, []string{"authority.example"}, false, false, 1, 1)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	believe(t, server.Certificate())
	roots := x509.NewCertPool()
	roots.AddCert(signer.GetRootCert(0).Cert)
	return &authority{directory: server.URL + wfe.DirectoryPath, roots: roots}
}

// believe has this process take a certificate for one of the machine's own. It is read once, so no test before may have asked by TLS.
func believe(t *testing.T, c *x509.Certificate) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	t.Setenv("SSL_CERT_DIR", t.TempDir())
}

// ask asks the service at a host, and gives the number of the certificate that it showed.
func (a *authority) ask(t *testing.T, address, host string) string {
	t.Helper()
	var conn *tls.Conn
	servicetest.Eventually(t, "a certificate for "+host, func() (ok bool) {
		var err error
		conn, err = a.dial(address, host)
		return err == nil
	})
	defer conn.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/api/auth/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}
	if got := servicetest.Send(t, client, r); got.Status != http.StatusOK {
		t.Errorf("%s: %d %s", host, got.Status, got.Body)
	}
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func (a *authority) dial(address, host string) (*tls.Conn, error) {
	return tls.Dial("tcp", strings.TrimPrefix(address, "https://"), &tls.Config{RootCAs: a.roots, ServerName: host})
}

// newNames is a name server that finds every name on this machine, and gives its address.
func newNames(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, asked *dns.Msg) {
		said := new(dns.Msg).SetReply(asked)
		for _, q := range asked.Question {
			if q.Qtype == dns.TypeA {
				said.Answer = append(said.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)})
			}
		}
		_ = w.WriteMsg(said)
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.ActivateAndServe()
	}()
	t.Cleanup(func() {
		_ = server.Shutdown()
		<-ended
	})
	return l.Addr().String()
}

// freeAddress is an address that nobody listens on: the authority has to know it before the service starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
