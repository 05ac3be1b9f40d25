package main

import (
	"github.com/spf13/cobra"

	"svc.dev/svc/service/config"
)

func newGateway() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run the public half of the service",
		Long: `Run the public half of the service: accounts, pages and the API, and the way to a runtime in another process. It works on
nothing itself. Gateway and runtime share a PostgreSQL database and a configuration, which svc serve --help prints; each
has a data folder and an operations address of its own. Both need runtime.token and runtime.admin_token, and the gateway
also runtime.url and runtime.assertion_key.

While it stops, what is new is refused with 503, and open streams end spread over ten seconds: a client resumes where it
was, at this gateway or another.`,
		Example: `  svc gateway --database postgres://svc@db.internal/svc --runtime-url http://10.0.0.2:8081
  svc gateway --config /etc/svc/svc.toml --data /var/lib/svc/gateway`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, config.GatewayAlone) },
	}
	addSettings(cmd, "data", "database", "listen", "ops-listen", "admin-socket", "runtime-url", "log-level", "log-format")
	return cmd
}
