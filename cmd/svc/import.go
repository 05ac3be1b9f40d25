package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/parcel"
)

func newImport() *cobra.Command {
	cmd := command.New("import ARCHIVE USER/BUSINESS", "Make a workspace of an export", `Make a workspace of what svc export has written. USER must have an account here, and becomes its owner; BUSINESS must not be
there, nor ever have been. Histories, offsets and versions are what they were, so a client goes on where it was.

The archive is read whole before anything is sent: one that is cut off or changed in a single bit is refused. Nobody sees the
workspace before all of it is there; when something goes wrong nothing of it is. The service must run: the command reaches it by its admin socket.`,
		`  svc import shop.export ada/shop
  svc import --identity key.txt shop.export ada/shop`)
	addSettings(cmd, "data", "database", "admin-socket", "log-level", "log-format")
	cmd.Args = command.Args(2, 2, "ARCHIVE", "USER/BUSINESS")
	identity := cmd.Flags().String("identity", "", "a file that opens the archive: keys of age, or a passphrase")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := parcel.ParseAddress(args[1])
		if err != nil {
			return command.Usagef("%v", err)
		}
		archives, err := archivesOf(args[:1], *identity)
		if err != nil {
			return err
		}
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		show := showProgress(cmd)
		defer show.end()
		var done parcel.Unpacked
		err = asOperator(cmd, func(o operate.Operator) error {
			return parcel.Carry(cmd.Context(), archives[0], spoolIn(c.Folder()), show.restore, func(r io.Reader) (err error) {
				done, err = o.Import(cmd.Context(), at, r)
				return err
			})
		})
		show.end()
		if err != nil {
			return err
		}
		return answer(done, func(w io.Writer) { printImported(w, done) })
	}
	return cmd
}

// spoolIn is the data folder, which is its owner's alone, where it is on this machine; else it is empty, and the system chooses.
func spoolIn(data string) string {
	if stat, err := os.Stat(data); err != nil || !stat.IsDir() {
		return ""
	}
	return data
}

func printImported(w io.Writer, u parcel.Unpacked) {
	fmt.Fprintf(w, "%s: %s, %s with %s, %s and runs, %s\n", u.Workspace, amount.Of(u.Agents, "agent"), amount.Of(u.Projects, "project"),
		amount.Of(u.Files, "file"), amount.Of(u.Streams, "conversation"), amount.Of(u.Attachments, "attachment"))
	if u.Missing > 0 {
		fmt.Fprintf(w, "warning: the export lacks the content of %s\n", amount.Of(u.Missing, "attachment"))
	}
	fmt.Fprintln(w, "To do: invite people, and enter the keys of models, connections and MCP servers again; they were not in the export.")
}
