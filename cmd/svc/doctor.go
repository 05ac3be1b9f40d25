package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc.dev/svc/service"
)

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what operators get wrong",
		Long: `Look at the configuration, the data folder, the disk, the database, the keys, the files folder, the clock, the limits and
the addresses, and say of each whether it is well and how to mend it. While a server runs it is also asked at its public
addresses, as a client would: whether each leads to its surface, whether a proxy holds streams back, and whether the
address of a client is known. Nothing is changed. It exits with 1 if something must be mended.

A gateway and a runtime in two processes are looked at each on its own machine, with --gateway or --runtime and the data
folder of that half; a configuration that has a key of one of them says it without the flag.`,
		Example: `  svc doctor
  svc doctor --data /var/lib/svc --json
  svc doctor --gateway --config /etc/svc/svc.toml --data /var/lib/svc/gateway`,
		Args: noArgs,
	}
	addSettings(cmd)
	asJSON := addJSON(cmd)
	var exam service.Exam
	cmd.Flags().BoolVar(&exam.Gateway, "gateway", false, "look at the public half of the service")
	cmd.Flags().BoolVar(&exam.Runtime, "runtime", false, "look at the private half of the service")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		exam.Log = service.NewLog(cmd.ErrOrStderr(), c)
		findings := service.Doctor(cmd.Context(), c, exam)
		if *asJSON {
			err = printJSON(cmd.OutOrStdout(), map[string]any{"checks": findings})
		} else {
			for _, f := range findings {
				fmt.Fprintln(cmd.OutOrStdout(), f)
			}
		}
		if err == nil && !service.Healthy(findings) {
			err = errors.New("something must be mended")
		}
		return err
	}
	return cmd
}
