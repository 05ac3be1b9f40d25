package service

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path/filepath"

	"svc.dev/svc/internal/front"
	"svc.dev/svc/service/certificate"
	"svc.dev/svc/service/config"
)

// sealed reports whether browsers reach this process without a proxy.
func (s *server) sealed() bool { return s.part.Faces && s.config.ListenTLS != "" }

// bindPublic takes the address that others reach this process by, and beside one with TLS the one that leads there.
func (s *server) bindPublic(ctx context.Context) error {
	l, err := s.listen(ctx)
	if err != nil {
		return err
	}
	if !s.sealed() {
		bounded := front.Listen(l, s.limits(front.ConnectionBytes))
		s.metrics.watch(connections, bounded.Count)
		s.front = bounded
		return nil
	}
	s.plain = front.Listen(l, s.limits(front.ConnectionBytes))
	return s.seal(ctx)
}

// seal takes the public address with TLS.
func (s *server) seal(ctx context.Context) (err error) {
	s.certificates, err = certificate.Open(certificate.Config{
		Cert: s.config.TLSCert, Key: s.config.TLSKey, ACME: s.config.TLSACME, Folder: filepath.Join(s.config.DataDir, "certificates"),
		Hosts: hostsOf(s.config.Surfaces()), Log: s.log,
	})
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.ListenTLS)
	if err != nil {
		return addressError("listen_tls", s.config.ListenTLS, err)
	}
	bounded := front.Listen(l, s.limits(front.SealedBytes))
	s.metrics.watch(connections, bounded.Count)
	s.front = bounded.Seal(s.certificates.TLS())
	return nil
}

func hostsOf(all config.Surfaces) (hosts []string) {
	for _, s := range all {
		hosts = append(hosts, s.URL.Hostname())
	}
	return hosts
}

// leading leads browsers to the public address, and answers an authority that looks who has it.
func (s *server) leading(n *node, public http.Handler) http.Handler {
	var origins []*url.URL
	for _, surface := range n.surfaces {
		origins = append(origins, surface.URL)
	}
	// What comes to no surface is refused by the front door itself.
	refuse := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = ""
		public.ServeHTTP(w, r)
	})
	return s.certificates.Answer(certificate.Redirect(origins, refuse))
}
