package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc.dev/svc/service"
)

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Say which build this is",
		Example: "  svc version --json",
		Args:    noArgs,
	}
	asJSON := addJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := service.ThisBuild()
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), b)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), shownBuild(b))
		return err
	}
	return cmd
}

// shownBuild is a build as one line, without what the build did not record.
func shownBuild(b service.Build) string {
	parts := []string{"svc", b.Version}
	if b.Revision != "" {
		revision := "revision " + b.Revision
		if b.Modified {
			revision += " (modified)"
		}
		parts = append(parts, revision)
	}
	return strings.Join(append(parts, b.Go, b.OS+"/"+b.Arch), " ")
}
