package service

import (
	"net/http"

	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
)

// public answers on the public address.
func (s *server) public(n *node) http.Handler {
	at := facing(n.surfaces)
	return gateway.New(gateway.Config{
		Runtime: engine.New(engine.Config{
			Runtime: n.rt, Guard: &scope.Guard{}, PublicURL: engine.Public(at.Agents.String(), at.Admin.String()), Dev: n.develops(), Log: n.log,
		}),
		Rate: s.config.LimitRate, Burst: s.config.LimitBurst, Streams: s.config.LimitStreams, ChannelRate: s.config.LimitChannelRate,
		WrongKeys: s.config.LimitWrongKeys, Verifications: s.config.LimitVerification, Spoofed: s.metrics.spoofed, Accounts: n.accounts, Audit: n.audit, Surfaces: at,
		Pages: page.New(page.Config{
			Platform: at.Platform.String(), Agents: at.Agents.String(), Admin: at.Admin.String(), Development: n.develops(),
		}),
		CookieDomain: s.config.CookieDomain, Trusted: s.config.TrustedProxies, Development: n.develops(),
		MailOff: !n.outbox.Enabled(), Absolute: s.config.SessionAbsolute, Observe: s.metrics.answered, Log: n.log,
	})
}
