package service

import (
	"net/http"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/page"
)

// public answers on the public address.
func (s *server) public(n *node) http.Handler {
	at := facing(n.surfaces)
	return gateway.New(gateway.Config{
		Accounts: n.accounts, Audit: n.audit, Surfaces: at,
		Pages: page.New(page.Config{
			Platform: at.Platform.String(), Agents: at.Agents.String(), Admin: at.Admin.String(), Development: n.develops(),
		}),
		CookieDomain: s.config.CookieDomain, Trusted: s.config.TrustedProxies, Development: n.develops(),
		MailOff: !n.outbox.Enabled(), Absolute: s.config.SessionAbsolute, Observe: s.metrics.answered, Log: n.log,
	})
}
