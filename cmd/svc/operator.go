package main

import (
	"errors"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
)

// newVerb is a command of the operator, with the flags of further settings. It asks the service that runs, or opens the database
// itself.
func newVerb(use, short, long, example string, settings ...string) *cobra.Command {
	cmd := command.New(use, short, long+`

While svc serve runs on the data folder, the command reaches it by its admin socket. Otherwise it opens the database itself.`, example)
	addSettings(cmd, append(settings, "data", "database", "admin-socket", "log-level", "log-format")...)
	return cmd
}

// asOperator gives the operator of the configuration to do.
func asOperator(cmd *cobra.Command, do func(operate.Operator) error) (err error) {
	c, err := configOf(cmd)
	if err != nil {
		return err
	}
	o, err := service.Operate(cmd.Context(), c, config.NewLog(cmd.ErrOrStderr(), c))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return do(o)
}
