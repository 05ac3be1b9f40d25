package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
)

func newVersion() *cobra.Command {
	cmd := command.New("version", "Say which build this is", "", "  svc version --json")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := service.ThisBuild()
		return answer(b, func(w io.Writer) { fmt.Fprintln(w, shownBuild(b)) })
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
