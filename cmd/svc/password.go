package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"svc.dev/svc/internal/command"
)

// maxPassword is what is read at most; the service takes less.
const maxPassword = 64 << 10

// readPassword reads a password from standard input, or asks a person for it twice.
func readPassword(cmd *cobra.Command, fromInput bool) (string, error) {
	in := cmd.InOrStdin()
	if fromInput {
		b, err := io.ReadAll(io.LimitReader(in, maxPassword))
		return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), err
	}
	terminal, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return "", command.Usagef("there is no terminal to ask for the password: use --password-stdin")
	}
	first, err := ask(cmd, terminal, "Password: ")
	if err != nil {
		return "", err
	}
	second, err := ask(cmd, terminal, "Once more: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the passwords differ")
	}
	return first, nil
}

// ask reads a line that is not shown. Whoever interrupts it gets the terminal back as it was.
func ask(cmd *cobra.Command, terminal *os.File, prompt string) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	fmt.Fprint(cmd.ErrOrStderr(), prompt)
	defer fmt.Fprintln(cmd.ErrOrStderr())
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	// The read cannot be interrupted: on a signal it is left behind, and the process ends.
	go func() {
		text, err := term.ReadPassword(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return string(l.text), l.err
	case <-cmd.Context().Done():
		return "", errors.Join(errors.New("interrupted"), term.Restore(fd, before))
	}
}
