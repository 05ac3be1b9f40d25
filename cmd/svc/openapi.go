package main

import (
	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/operation"
)

func newOpenAPI() *cobra.Command {
	cmd := command.New("openapi", "Print the description of the HTTP API (OpenAPI 3.1)", "", "  svc openapi > openapi.json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text, err := operation.Printed()
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		return err
	}
	return cmd
}
