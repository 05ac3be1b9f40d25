package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/build"
	"svc.dev/svc/internal/command"
)

func newVersion() *cobra.Command {
	cmd := command.New("version", "Say which build this is", "", "  svc version --json")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := build.This()
		return answer(b, func(w io.Writer) { fmt.Fprintln(w, b) })
	}
	return cmd
}
