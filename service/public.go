package service

import (
	"net/http"

	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/surface"
	"svc.dev/svc/service/vault"
)

// facing is the surfaces as the front door takes them.
func facing(all config.Surfaces) surface.Surfaces {
	return surface.Surfaces{Platform: all[0].URL, Agents: all[1].URL, Admin: all[2].URL}
}

// public answers on the public address.
func (s *server) public(n *node) http.Handler {
	at := facing(n.surfaces)
	n.gateway = gateway.New(gateway.Config{
		DB:      n.db,
		Runtime: s.runtime(n), Stopping: s.stopping, Farewell: s.farewell(),
		Rate: s.config.LimitRate, Burst: s.config.LimitBurst, Streams: s.config.LimitStreams, ChannelRate: s.config.LimitChannelRate,
		ChannelBody: s.config.LimitChannelBody, EntrypointBody: s.config.LimitBody, NoEntrypoint: s.part.Works && s.config.Project == "", WrongKeys: s.config.LimitWrongKeys, Verifications: s.config.LimitVerification,
		Rooms: operation.Rooms{
			Accounts: n.accounts, Keys: n.apikeys, Devices: n.devices, Apps: n.apps, Manifests: n.manifests, Installations: n.installs, Workspaces: n.spaces,
			Quotas: n.quotas, Projects: n.projects, Repositories: n.repositories, Vault: &vault.Vault{DB: n.db, Secrets: n.secrets, Audit: n.audit}, Models: n.models,
			Agents: n.agents, MCPs: n.mcps, Audit: n.audit, Health: s.health, Rotate: n.rotate,
		},
		Receipts: n.receipts, Application: n.application,
		Pages: page.New(page.Config{
			Platform: at.Platform.String(), Agents: at.Agents.String(), Admin: at.Admin.String(), Development: n.develops(),
		}),
		Config: surface.Config{
			Surfaces: at, CookieDomain: s.config.CookieDomain, Trusted: s.config.TrustedProxies, Development: n.develops(),
			Absolute: s.config.SessionAbsolute, Memory: s.memory, Spoofed: s.metrics.spoofed.Inc,
		},
		MailOff: !n.outbox.Enabled(), Observe: s.metrics.answered, Log: n.log, Redactor: n.redactor,
		Node: database.PublicNode(database.NodeIn(s.config.DataDir)),
	})
	return n.gateway
}
