package main

import (
	"github.com/spf13/cobra"

	"svc.dev/svc/service/operation"
)

func newOpenAPI() *cobra.Command {
	return &cobra.Command{
		Use:     "openapi",
		Short:   "Print the description of the HTTP API (OpenAPI 3.1)",
		Example: "  svc openapi > openapi.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := operation.Printed()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(text)
			}
			return err
		},
	}
}
