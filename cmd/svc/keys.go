package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"svc.dev/svc/service/config"
)

func newKeys() *cobra.Command {
	return newGroup("keys", "Make keys", newKeysAssertion())
}

func newKeysAssertion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "assertion",
		Short: "Make the pair by which a runtime knows its gateway",
		Long: `Make a pair of keys: what a gateway signs with, and by what a runtime knows it. Give each its own; the runtime never needs
the first. To change them, give the runtime both public keys with a comma between them, then the gateway the new key,
then drop the old public key.`,
		Example: `  svc keys assertion
  svc keys assertion --json`,
		Args: noArgs,
	}
	asJSON := addJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		pair, err := config.NewAssertionPair()
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), pair)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "# gateway: a secret\nSVC_ASSERTION_KEY=%s\n# runtime\nSVC_ASSERTION_PUBLIC=%s\n", pair.Key, pair.Public)
		return err
	}
	return cmd
}
