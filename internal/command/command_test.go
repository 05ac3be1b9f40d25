package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
)

func TestTextsAreBrokenToFitATerminal(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for name, test := range map[string]struct{ got, want string }{
		"joined":      {command.Fit("one\ntwo\n\nthree"), "one two\n\nthree"},
		"as it is":    {command.Fit("one\n  " + long + "\ntwo"), "one\n  " + long + "\ntwo"},
		"broken":      {command.Fit(long), strings.TrimRight(strings.Repeat("word ", 16), " ") + "\n" + strings.TrimRight(strings.Repeat("word ", 16), " ") + "\n" + strings.TrimRight(strings.Repeat("word ", 8), " ")},
		"hanging":     {command.Hang(70, "a bb ccc dddd eeeee"), strings.Repeat(" ", 70) + "a bb ccc\n" + strings.Repeat(" ", 70) + "dddd eeeee"},
		"one too big": {command.Hang(78, "abc d"), strings.Repeat(" ", 78) + "abc\n" + strings.Repeat(" ", 78) + "d"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
}

func TestMistakesOfWhoeverTypedAreKnown(t *testing.T) {
	root := command.Root(&cobra.Command{Use: "svc", Args: command.NoArgs, RunE: func(*cobra.Command, []string) error { return nil }})
	leaf := command.New("list", "List", "", "  svc things list")
	leaf.RunE = func(*cobra.Command, []string) error { return errors.New("the machine") }
	named := command.New("get NAME", "Get", "", "  svc things get x")
	named.Args, named.RunE = command.Args(1, 1, "NAME"), func(*cobra.Command, []string) error { return nil }
	command.AddJSON(leaf)
	root.AddCommand(command.Group("things", "Things", leaf, named))
	for args, want := range map[string]struct {
		usage bool
		says  string
	}{
		"thing":             {true, "is things meant?"},
		"list things":       {true, "is svc things list meant?"},
		"get x":             {true, "is svc things get meant?"},
		"things lst":        {true, "is list meant?"},
		"things list --jon": {true, "is --json meant?"},
		"things list x":     {true, `"x" is not expected`},
		"things get":        {true, "NAME is missing"},
		"things get a b":    {true, `"b" is not expected`},
		"things list":       {false, "the machine"},
	} {
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(strings.Fields(args))
		err := root.Execute()
		if err == nil || command.IsUsage(fmt.Errorf("around: %w", err)) != want.usage || !strings.Contains(err.Error(), want.says) {
			t.Errorf("svc %s: %v", args, err)
		}
	}
}
