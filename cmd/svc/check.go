package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

func newCheck() *cobra.Command {
	cmd := command.New("check [DIR]", "Look for what is wrong with a project in TypeScript",
		`Build a project and load its modules, and ask tsc for its types where the project has installed it. It exits with 1 if
something must be mended. DIR defaults to the current folder.

With --replay a run of the workflow is made, to its end, and then made again from what it recorded, as after a restart.
Both times must go the same way: a workflow that asks for another step, or ends otherwise, uses outside of its steps what
is not recorded. Steps are done once, with all that they do; sleeps are over at once. Nothing is kept of the run.`,
		`  svc check
  svc check shop --json
  svc check --replay refund --input '{"order":"order_1042"}'`)
	cmd.Args = command.Args(0, 1, "DIR")
	replay := cmd.Flags().String("replay", "", "the workflow to run twice (default none)")
	input := cmd.Flags().String("input", "", "its input: JSON, @FILE or - for standard input (default none)")
	addSettings(cmd, "log-level", "log-format")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder := "."
		if len(args) > 0 {
			folder = args[0]
		}
		replays, err := replaysOf(*replay, *input, cmd.InOrStdin())
		if err != nil {
			return command.Usage(err)
		}
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		c.LogLevel = cmp.Or(c.LogLevel, "warn")
		found, err := service.Check(cmd.Context(), folder, replays, c, config.NewLog(cmd.ErrOrStderr(), c))
		if err != nil {
			return err
		}
		if err := answer(found, func(w io.Writer) { sayChecked(w, found) }); err != nil {
			return err
		}
		if !found.OK {
			return errors.New("something must be mended")
		}
		return nil
	}
	return cmd
}

// replaysOf is which run is made twice.
func replaysOf(workflow, input string, in io.Reader) ([]service.Replaying, error) {
	if workflow == "" {
		if input != "" {
			return nil, errors.New("--input is of a run: say which workflow with --replay")
		}
		return nil, nil
	}
	if input == "" {
		return []service.Replaying{{Workflow: workflow}}, nil
	}
	text, err := command.Input("input", input, in)
	if err != nil {
		return nil, err
	}
	return []service.Replaying{{Workflow: workflow, Input: text}}, nil
}

// sayChecked tells a person what was found.
func sayChecked(w io.Writer, found service.Checked) {
	about := found.Build.Said
	if about == "" {
		about = fmt.Sprintf("%s, %s", strings.Join(found.Build.Modules, " "), amount.Of(found.Build.Bytes, "byte"))
	}
	sayCheck(w, "build", found.Build.Result, about)
	sayCheck(w, "types", found.Types.Result, found.Types.Said)
	for _, r := range found.Replay {
		about := r.Said
		if about == "" {
			about = fmt.Sprintf("the run asked %s, and again the same", amount.Of(r.Asked, "time"))
		}
		sayCheck(w, "replay of "+r.Workflow, r.Result, about)
	}
}

func sayCheck(w io.Writer, name, result, about string) {
	if strings.Contains(strings.TrimSpace(about), "\n") {
		about = "\n\n" + strings.TrimSpace(about) + "\n"
	}
	line := strings.TrimSpace(fmt.Sprintf("%s %s: %s", name, result, about))
	fmt.Fprintln(w, strings.TrimSuffix(line, ":"))
}
