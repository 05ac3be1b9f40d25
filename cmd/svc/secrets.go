package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
)

func newSecretsRotate() *cobra.Command {
	cmd := newVerb("rotate", "Move every secret to a new key", `Add a new key to the file of the key ring, make it the active one, move every secret to it, and see that none is left
under the old one. The secrets themselves are not touched. It may be interrupted anywhere, and goes on when it is run again.

On PostgreSQL other nodes may work on the same database, and must have a key before it is used. There the command stops
after the first step and says what to do next; with --only-node it goes on at once.`,
		`  svc secrets rotate
  svc secrets rotate --remove-old`)
	var q operate.Rotate
	cmd.Flags().BoolVar(&q.RemoveOld, "remove-old", false, "remove keys that nothing needs any more; no new one is made where there are such")
	cmd.Flags().BoolVar(&q.OnlyNode, "only-node", false, "no other node works on this database")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return asOperator(cmd, func(o operate.Operator) error {
			show := &progress{w: cmd.ErrOrStderr(), live: config.IsTerminal(cmd.ErrOrStderr())}
			r, err := o.RotateKeys(cmd.Context(), q, show.step)
			show.end()
			if err != nil {
				return err
			}
			return answer(r, func(w io.Writer) { printRotation(w, r) })
		})
	}
	return cmd
}

// progress shows how far a rotation is: on a terminal in one line, else in as many as there are steps.
type progress struct {
	w    io.Writer
	live bool
	last string
}

func (p *progress) step(r operate.Rotation) {
	line := fmt.Sprintf("key %s: %s under it, %d left", r.Active, amount.Of(r.Rows[r.Active], "secret"), r.Left())
	switch {
	case line == p.last:
	case p.live:
		fmt.Fprintf(p.w, "\r\033[K%s", line)
	default:
		fmt.Fprintln(p.w, line)
	}
	p.last = line
}

func (p *progress) end() {
	if p.live && p.last != "" {
		fmt.Fprint(p.w, "\r\033[K")
	}
}

func printRotation(w io.Writer, r operate.Rotation) {
	if r.Added != "" {
		fmt.Fprintf(w, "added key %s\n", r.Added)
	}
	fmt.Fprintf(w, "active key %s, %s moved to it\n", r.Active, amount.Of(r.Rewrapped, "secret"))
	for _, kid := range slices.Sorted(maps.Keys(r.Rows)) {
		fmt.Fprintf(w, "  %s  %s\n", kid, amount.Of(r.Rows[kid], "secret"))
	}
	for _, kid := range r.Removed {
		fmt.Fprintf(w, "removed key %s\n", kid)
	}
	if len(r.Todo) > 0 {
		fmt.Fprintln(w, "To do:")
	}
	for i, step := range r.Todo {
		fmt.Fprintf(w, "  %d. %s\n", i+1, step)
	}
}
