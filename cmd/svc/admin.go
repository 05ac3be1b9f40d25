package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/operate"
)

func newAdminCreate() *cobra.Command {
	cmd := newVerb("create", "Make an administrator", `Make an account that administers the service. Its e-mail address counts as proven. The password is asked for on the
terminal, twice and unseen, or read from standard input; it is never an argument.`,
		`  svc admin create --email ada@example.com --username ada
  svc admin create --email ada@example.com --password-stdin < password.txt`)
	email := cmd.Flags().String("email", "", "e-mail address of the account")
	username := cmd.Flags().String("username", "", "username of the account (default made from the address)")
	fromInput := cmd.Flags().Bool("password-stdin", false, "read the password from standard input")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *email == "" {
			return command.Usagef("--email is missing")
		}
		password, err := readPassword(cmd, *fromInput)
		if err != nil {
			return err
		}
		return asOperator(cmd, func(o operate.Operator) error {
			p, err := o.CreateAdmin(cmd.Context(), operate.NewAdmin{Email: *email, Username: *username, Password: password})
			if err != nil {
				return err
			}
			return answer(map[string]any{"account": p}, func(w io.Writer) {
				fmt.Fprintf(w, "%s (%s) administers the service\n", p.Username, p.ID)
			})
		})
	}
	return cmd
}

func newAdminGrant() *cobra.Command {
	cmd := newVerb("grant", "Give an account a role over the service", `Give an account a role over the whole service: admin, support, which reads what admin reads and changes nothing, or none.
Name the account by its username, its id, or an e-mail address that it has proven to be its own.`,
		`  svc admin grant --username ada
  svc admin grant --email ada@example.com --role support
  svc admin grant --account-id acc_01J9Z3NDEKTSV4RRFFQ69G5FAV --role none`)
	var g operate.Grant
	cmd.Flags().StringVar(&g.AccountID, "account-id", "", "id of the account")
	cmd.Flags().StringVar(&g.Username, "username", "", "username of the account")
	cmd.Flags().StringVar(&g.Email, "email", "", "e-mail address that the account has proven")
	cmd.Flags().StringVar(&g.Role, "role", "admin", "admin, support or none")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkGrant(g); err != nil {
			return command.Usage(err)
		}
		return asOperator(cmd, func(o operate.Operator) error {
			p, err := o.Grant(cmd.Context(), g)
			if err != nil {
				return err
			}
			return answer(map[string]any{"account": p}, func(w io.Writer) {
				fmt.Fprintf(w, "%s (%s) has the role %s\n", p.Username, p.ID, p.Role)
			})
		})
	}
	return cmd
}

func checkGrant(g operate.Grant) error {
	named := slices.DeleteFunc([]string{g.AccountID, g.Username, g.Email}, func(name string) bool { return name == "" })
	switch {
	case len(named) == 0:
		return errors.New("whose role it is is missing: name the account with --username, --email or --account-id")
	case len(named) > 1:
		return errors.New("the account is named more than once: use one of --username, --email and --account-id")
	case g.Role != "admin" && g.Role != "support" && g.Role != "none":
		return fmt.Errorf("--role %q is not one of admin, support, none", g.Role)
	}
	return nil
}
