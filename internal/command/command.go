// Package command is what the verbs of svc are made of, those of operators and those of people: how one is declared, what it takes
// for a mistake of whoever typed it, and how it answers people and machines.
package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	OK     = 0
	Failed = 1
	Misuse = 2
)

// usageError is a mistake of whoever typed the command or wrote the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error as a mistake of whoever typed the command: it exits with Misuse.
func Usage(err error) error { return usageError{err} }

// Usagef is Usage of a sentence.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether an error is such a mistake.
func IsUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}

// New is a command that takes no arguments.
func New(use, short, long, example string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: NoArgs}
}

// Group is a command that only has others below it.
func Group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := New(use, short, "", below[0].Example)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// NoArgs refuses arguments, and names the command that a wrong one resembles.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return Usagef("%q is not expected after %q", args[0], cmd.CommandPath())
	}
	name := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" ")
	if elsewhere := turned(cmd, args); elsewhere != "" {
		return Usagef("there is no command %q: is %s meant?", name, elsewhere)
	}
	return Usagef("there is no command %q%s", name, Meant(args[0], names(cmd)))
}

// turned are the commands that somebody means who began with the verb: "list agents", or "send" alone.
func turned(cmd *cobra.Command, args []string) string {
	var paths []string
	for _, group := range cmd.Commands() {
		for _, below := range group.Commands() {
			if below.Name() == args[0] && len(args) > 1 && args[1] == group.Name() {
				return below.CommandPath()
			}
			if below.Name() == args[0] {
				paths = append(paths, below.CommandPath())
			}
		}
	}
	return strings.Join(paths, " or ")
}

func names(cmd *cobra.Command) (all []string) {
	for _, below := range cmd.Commands() {
		all = append(all, below.Name())
	}
	return all
}

// Args takes between least and most arguments. The names are those of the usage line, in their order.
func Args(least, most int, named ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usagef("%s is missing: %s", named[len(args)], cmd.UseLine())
		case len(args) > most:
			return Usagef("%q is not expected: %s", args[most], cmd.UseLine())
		}
		return nil
	}
}

// AddJSON adds the flag that asks for an answer for machines, and returns how the command answers: with a value, or in words.
func AddJSON(cmd *cobra.Command) func(v any, say func(io.Writer)) error {
	asked := JSONFlag(cmd)
	return func(v any, say func(io.Writer)) error {
		if *asked {
			return Print(cmd.OutOrStdout(), v)
		}
		var words bytes.Buffer
		say(&words)
		_, err := words.WriteTo(cmd.OutOrStdout())
		return err
	}
}

// JSONFlag adds the flag alone, for a command whose answer is not one value.
func JSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "answer in JSON")
}
