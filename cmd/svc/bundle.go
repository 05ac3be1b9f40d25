package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
)

func newBundle() *cobra.Command {
	cmd := command.New("bundle [DIR]", "Make a project in TypeScript one file",
		`Make the modules of a project, and the packages that they import, one file. A program runs it that has neither the
sources nor their packages, and no Node. What is wrong with a source is told with its line. DIR defaults to the current
folder; its modules lie in src, or in DIR itself where there is no src.`,
		`  svc bundle -o shop.bundle
  svc bundle examples/project -o shop.bundle --json`)
	cmd.Args = command.Args(0, 1, "DIR")
	file := cmd.Flags().StringP("output", "o", "", "the file to write")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if *file == "" {
			return command.Usagef("say which file to write: -o FILE")
		}
		folder := "."
		if len(args) > 0 {
			folder = args[0]
		}
		made, err := service.Bundle(folder, *file)
		if err != nil {
			return err
		}
		return answer(made, func(w io.Writer) {
			fmt.Fprintf(w, "%s: %s, %.12s\n", made.File, amount.Of(made.Bytes, "byte"), made.Hash)
		})
	}
	return cmd
}
