package main

import (
	"github.com/spf13/cobra"

	"svc.dev/svc/service/config"
)

func newRuntime() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runtime",
		Short: "Run the private half of the service",
		Long: `Run the private half of the service: the workers, and the API that a gateway in another process asks. It believes its
gateway alone, and does not start without runtime.token, runtime.admin_token and runtime.assertion_public. Let only the
gateway reach its address: loopback, a socket (unix:PATH) or a private network.

To change a token without a refused request: give the runtime the new one as runtime.token_previous and send it SIGHUP, give
the gateway the new one as runtime.token and send it SIGHUP, and then let the runtime have the new one alone. The pair of
svc keys assertion changes the same way: the runtime knows two public keys for a while. Both read svc.toml and the files of
*_FILE variables again; what is wrong in them is logged, and the old tokens stay in use.`,
		Example: `  svc runtime --database postgres://svc@db.internal/svc --runtime-listen 10.0.0.2:8081
  svc runtime --config /etc/svc/svc.toml --data /var/lib/svc/runtime --runtime-listen unix:/run/svc/runtime.sock`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, config.RuntimeAlone) },
	}
	addSettings(cmd, "data", "database", "ops-listen", "runtime-listen", "workers", "log-level", "log-format")
	return cmd
}
