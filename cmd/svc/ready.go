package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/doctor"
)

func newReady() *cobra.Command {
	cmd := command.New("ready", "Ask the service of this machine whether it is ready",
		`Ask the operations address what /readyz says there, and exit with 0 if requests may come, else with 1. It is the health
check of a container that has no other program in it.`,
		`  svc ready
  svc ready --ops-listen 127.0.0.1:8091 --json`)
	addSettings(cmd, "data", "ops-listen")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		state, err := doctor.AskReadiness(cmd.Context(), c)
		if err != nil {
			return err
		}
		if err := answer(state, func(w io.Writer) { printReadiness(w, state) }); err != nil {
			return err
		}
		if !state.Ready {
			return fmt.Errorf("not ready: %s", state.State)
		}
		return nil
	}
	return cmd
}

func printReadiness(w io.Writer, state doctor.Readiness) {
	for _, c := range state.Checks {
		if c.OK {
			fmt.Fprintf(w, "ok    %s\n", c.Name)
		} else {
			fmt.Fprintf(w, "fail  %s: %s\n", c.Name, c.Error)
		}
	}
}
