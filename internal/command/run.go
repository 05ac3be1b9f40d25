package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Run does what was typed, and is the exit code. What went wrong is told on stderr in the words of said; "" says that it was told
// already.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer, said func(error) string) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return OK
	}
	text := said(err)
	if text == "" {
		return Failed
	}
	fmt.Fprintf(stderr, "svc: %s\n", text)
	if IsUsage(err) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return Misuse
	}
	return Failed
}

// Input is JSON that a flag gives: as it stands, as @FILE, or as - for what comes in.
func Input(flag, given string, in io.Reader) (json.RawMessage, error) {
	text := []byte(given)
	var err error
	switch {
	case given == "-":
		text, err = io.ReadAll(in)
	case strings.HasPrefix(given, "@"):
		text, err = os.ReadFile(given[1:])
	}
	if err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, Usagef("--%s is not JSON", flag)
	}
	return text, nil
}
