package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
)

func newInit() *cobra.Command {
	cmd := command.New("init [DIR]", "Make a folder a project in TypeScript",
		`Write what a project in TypeScript begins with: package.json, tsconfig.json, the types of @svc/runtime in
svc-env.d.ts, and a first workflow where there are no modules. What is there stays as it is, but for svc-env.d.ts, which
is renewed. DIR defaults to the current folder. Packages are installed by npm install; npm is not needed to run them.`,
		`  svc init
  svc init shop --json`)
	cmd.Args = command.Args(0, 1, "DIR")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		folder := "."
		if len(args) > 0 {
			folder = args[0]
		}
		made, err := service.InitProject(folder)
		if err != nil {
			return err
		}
		return answer(made, func(w io.Writer) {
			for _, file := range made.Files {
				fmt.Fprintln(w, "wrote", file)
			}
			fmt.Fprintln(w, "next: npm install, and then svc dev")
		})
	}
	return cmd
}
