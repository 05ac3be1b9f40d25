package main

import (
	"fmt"
	"io"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/backup"
)

func newRestore() *cobra.Command {
	cmd := command.New("restore ARCHIVE… DIR", "Make a data folder of a backup",
		`Make a data folder of a backup, or of a chain of them: the first and every one that goes on from it, in any order. DIR must be
empty or not be there. The archives are read whole before anything is written: one that is cut off, changed in a single bit or
written by a newer svc is refused, and so is a chain with a gap. While files are written DIR is marked, and no svc starts on it;
the mark goes when everything is proven and durable. What is left to you is told at the end.

A restored service goes on with what was unfinished at that moment: runs, prompts, mails. Do not start it beside the one that
the backup was taken of.`,
		`  svc restore monday.backup /var/lib/svc
  svc restore monday.backup tuesday.backup /var/lib/svc
  svc restore --identity key.txt svc.backup /var/lib/svc`)
	cmd.Args = atLeast(2, "ARCHIVE", "DIR")
	identity := cmd.Flags().String("identity", "", "a file that opens the archives: keys of age, or a passphrase")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		last := len(args) - 1
		archives, err := archivesOf(args[:last], *identity)
		if err != nil {
			return err
		}
		show := showProgress(cmd)
		defer show.end()
		done, err := backup.Restore(cmd.Context(), archives, args[last], show.restore)
		show.end()
		if err != nil {
			return err
		}
		return answer(done, func(w io.Writer) { printRestored(w, done) })
	}
	return cmd
}

// atLeast takes so many arguments or more, named as in the usage line.
func atLeast(n int, named ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return command.Usagef("%s is missing: %s", named[len(args)], cmd.UseLine())
		}
		return nil
	}
}

// identities is what opens encrypted backups; none without a file.
func identities(file string) ([]age.Identity, error) {
	if file == "" {
		return nil, nil
	}
	all, err := archive.Identities(file)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	return all, nil
}

func (s *shownProgress) restore(p backup.Restoring) {
	if p.Proving {
		s.show("reading", p.Done, p.Of)
		return
	}
	s.show("writing", p.Done, p.Of)
}

func printRestored(w io.Writer, r backup.Restored) {
	fmt.Fprintf(w, "%s: %s as of %s, %s in %s\n", r.Folder, r.ID, r.At.Format(time.RFC3339), screen.Bytes(r.Bytes), amount.Of(r.Files, "file"))
	if len(r.Todo) > 0 {
		fmt.Fprintln(w, "To do:")
	}
	for i, step := range r.Todo {
		fmt.Fprintf(w, "  %d. %s\n", i+1, step)
	}
}
