package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/doctor"
)

func newDoctor() *cobra.Command {
	cmd := command.New("doctor", "Look for what operators get wrong",
		`Look at the configuration, the data folder, the disk, the database, the keys, the files folder, the clock, the limits and
the addresses, and say of each whether it is well and how to mend it. While a server runs it is also asked at its public
addresses, as a client would: whether each leads to its surface, whether a proxy holds streams back, and whether the
address of a client is known. Nothing is changed. It exits with 1 if something must be mended.

A gateway and a runtime in two processes are looked at each on its own machine, with --gateway or --runtime and the data
folder of that half; a configuration that has a key of one of them says it without the flag.`,
		`  svc doctor
  svc doctor --data /var/lib/svc --json
  svc doctor --gateway --config /etc/svc/svc.toml --data /var/lib/svc/gateway`)
	addSettings(cmd)
	answer := command.AddJSON(cmd)
	var exam doctor.Exam
	cmd.Flags().BoolVar(&exam.Gateway, "gateway", false, "look at the public half of the service")
	cmd.Flags().BoolVar(&exam.Runtime, "runtime", false, "look at the private half of the service")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, mistake := configOf(cmd)
		var findings []doctor.Finding
		if mistake != nil {
			findings = doctor.ExamineMistake(c, mistake)
		} else {
			exam.Log = config.NewLog(cmd.ErrOrStderr(), c)
			findings = append(doubtVariables(os.Environ()), doctor.Examine(cmd.Context(), c, exam)...)
		}
		err := answer(map[string]any{"checks": findings}, func(w io.Writer) {
			for _, f := range findings {
				fmt.Fprintln(w, f)
			}
		})
		if err != nil || mistake != nil {
			return errors.Join(mistake, err)
		}
		if !doctor.Healthy(findings) {
			return errors.New("something must be mended")
		}
		return nil
	}
	return cmd
}

// doubtVariables warns of variables that look like settings and are none.
func doubtVariables(environ []string) (findings []doctor.Finding) {
	for _, text := range unknownVariables(environ) {
		findings = append(findings, doctor.Finding{Name: "environment", Verdict: doctor.Warn, Text: text, Mend: "svc serve --help shows every variable"})
	}
	return findings
}
