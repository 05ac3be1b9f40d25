package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/operate"
)

func newAuditVerify() *cobra.Command {
	cmd := newVerb("verify", "See whether the audit log is as it was written", `Follow every chain of the audit log, and hold it against this node's checkpoints. An event that was edited, deleted, inserted
or moved is named by its chain and number. What was cut off the end of a chain, and a chain that vanished, is found by
checkpoints alone. It exits with 1 if anything is found.`,
		`  svc audit verify
  svc audit verify --data /var/lib/svc --json`)
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return asOperator(cmd, func(o operate.Operator) error {
			r, err := o.VerifyAudit(cmd.Context())
			if err != nil {
				return err
			}
			err = answer(struct {
				OK     bool `json:"ok"`
				Report any  `json:"report"`
			}{r.OK(), r}, func(w io.Writer) {
				fmt.Fprintf(w, "%s, %s, %s\n", amount.Of(r.Chains, "chain"), amount.Of(r.Events, "event"), amount.Of(r.Checkpoints, "checkpoint"))
				for _, f := range r.Faults {
					fmt.Fprintln(w, f.Error())
				}
				fmt.Fprintln(w, r.Note)
			})
			if err == nil && !r.OK() {
				err = errors.New("the audit log is not as it was written")
			}
			return err
		})
	}
	return cmd
}
