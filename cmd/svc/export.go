package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/parcel"
)

// madeExport is the answer of svc export.
type madeExport struct {
	File      string    `json:"file"`
	Size      int64     `json:"size"` // of the file
	Workspace string    `json:"workspace"`
	At        time.Time `json:"at"`
	Files     int64     `json:"files"`
	Bytes     int64     `json:"bytes"` // of these
	Encrypted bool      `json:"encrypted"`
}

func newExport() *cobra.Command {
	cmd := newVerb("export USER/BUSINESS", "Write one workspace to a file, for another service", `Write one workspace to one file: its conversations and runs with their attachments, its agents with every version, its projects
with their files. svc import makes a workspace of it, on this service or another. People, teams, API keys, secrets, connections
and MCP servers stay behind: whoever takes the workspace in invites people and enters keys again.

Every conversation and every run is as it was at one moment; the workspace can be used meanwhile. Where work is not finished the
export is refused, unless --unfinished takes it along: it then goes on here, and there too.`,
		`  svc export ada/shop -o shop.export
  svc export ada/shop --encrypt age1… -o - | ssh other 'cat > shop.export'`, "files")
	cmd.Args = command.Args(1, 1, "USER/BUSINESS")
	var output, encrypt string
	var q parcel.Wish
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write, or - for the output")
	cmd.Flags().StringVar(&encrypt, "encrypt", "", "a public key of age (age1…), or a file with a passphrase")
	cmd.Flags().BoolVar(&q.Unfinished, "unfinished", false, "take along work that is not finished")
	asked := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output == "-" && (*asked || config.IsTerminal(cmd.OutOrStdout())) {
			return command.Usagef("the export itself goes to the output: give -o FILE, or send it on without --json")
		}
		at, err := parcel.ParseAddress(args[0])
		if err != nil {
			return command.Usagef("%v", err)
		}
		q.Address = at
		output = cmp.Or(output, at.Username+"-"+at.Business+"-"+time.Now().UTC().Format("20060102T150405Z")+".export")
		var made backup.Made
		done := madeExport{File: output, Workspace: args[0], Encrypted: encrypt != ""}
		err = asOperator(cmd, func(o operate.Operator) (err error) {
			made, done.Size, err = archiveTo(cmd, output, encrypt, backup.Base{}, func(ctx context.Context, w io.Writer) error { return o.Export(ctx, q, w) })
			return err
		})
		if err != nil {
			return err
		}
		done.At, done.Files, done.Bytes = made.At, made.Files, made.Bytes
		if *asked {
			return command.Print(cmd.OutOrStdout(), done)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s as of %s, %s in %s; the export has %s\n",
			done.File, done.Workspace, done.At.Format(time.RFC3339), screen.Bytes(done.Bytes), amount.Of(done.Files, "file"), screen.Bytes(done.Size))
		return nil
	}
	return cmd
}
