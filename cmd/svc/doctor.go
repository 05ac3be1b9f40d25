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
		Long: `Look at the data folder, the disk, the database, the clock, the limits and the addresses, and say of each whether it is
well and how to mend it. Nothing is changed. It exits with 1 if something must be mended before svc can serve.`,
		Example: `  svc doctor
  svc doctor --data /var/lib/svc --json`,
		Args: noArgs,
	}
	addSettings(cmd)
	asJSON := addJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		findings := service.Doctor(cmd.Context(), c, service.NewLog(cmd.ErrOrStderr(), c))
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
