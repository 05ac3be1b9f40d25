package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/config"
)

func newKeysAssertion() *cobra.Command {
	cmd := command.New("assertion", "Make the pair by which a runtime knows its gateway",
		`Make a pair of keys: what a gateway signs with, and by what a runtime knows it. Give each its own; the runtime never needs
the first. To change them, give the runtime both public keys with a comma between them, then the gateway the new key,
then drop the old public key.`,
		`  svc keys assertion
  svc keys assertion --json`)
	answer := command.AddJSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		pair, err := config.NewAssertionPair()
		if err != nil {
			return err
		}
		return answer(pair, func(w io.Writer) {
			fmt.Fprintf(w, "# gateway: a secret\nSVC_ASSERTION_KEY=%s\n# runtime\nSVC_ASSERTION_PUBLIC=%s\n", pair.Key, pair.Public)
		})
	}
	return cmd
}
