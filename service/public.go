package service

import (
	"net/http"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/vault"
)

// public answers on the public address.
func (s *server) public(n *node) http.Handler {
	at := facing(n.surfaces)
	n.gateway = gateway.New(gateway.Config{
		Runtime: s.runtime(n), Stopping: s.stopping, Farewell: s.farewell(),
		Rate: s.config.LimitRate, Burst: s.config.LimitBurst, Streams: s.config.LimitStreams, ChannelRate: s.config.LimitChannelRate,
		ChannelBody: s.config.LimitChannelBody, WrongKeys: s.config.LimitWrongKeys, Verifications: s.config.LimitVerification, Spoofed: s.metrics.spoofed, Accounts: n.accounts, Workspaces: n.spaces, Projects: n.projects,
		Vault: &vault.Vault{DB: n.db, Secrets: n.secrets, Audit: n.audit}, Audit: n.audit, Surfaces: at,
		Pages: page.New(page.Config{
			Platform: at.Platform.String(), Agents: at.Agents.String(), Admin: at.Admin.String(), Development: n.develops(),
		}),
		CookieDomain: s.config.CookieDomain, Trusted: s.config.TrustedProxies, Development: n.develops(),
		MailOff: !n.outbox.Enabled(), Absolute: s.config.SessionAbsolute, Observe: s.metrics.answered, Log: n.log,
		Memory: s.memory, Health: s.health, Rotate: n.rotateAside,
		Node: publicNode(nodeIn(s.config.DataDir)),
	})
	return n.gateway
}
