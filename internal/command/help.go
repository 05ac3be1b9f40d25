package command

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// columns is how wide help is at most.
const columns = 80

func init() { cobra.AddTemplateFunc("fit", Fit) }

// Root makes a command the one that all others stand below: what is wrong with a flag is a mistake of whoever typed it, and help
// fits a terminal.
func Root(cmd *cobra.Command) *cobra.Command {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Usage(withMeantFlag(cmd, err)) })
	cmd.SetHelpTemplate(`{{with or .Long .Short}}{{fit .}}

{{end}}{{.UsageString}}`)
	cmd.SetUsageTemplate(`Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of all:
{{.InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

Run '{{.CommandPath}} [command] --help' for more about a command.{{end}}
`)
	return cmd
}

// Fit breaks the lines of a text so that none is wider than a terminal. Lines that begin with a space stand as they are.
func Fit(text string) string {
	var out, paragraph []string
	flush := func() {
		out = append(out, wrapped(strings.Fields(strings.Join(paragraph, " ")), columns)...)
		paragraph = nil
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		out = append(out, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// Hang breaks a text into lines that all begin so many columns further in.
func Hang(indent int, text string) string {
	lines := wrapped(strings.Fields(text), columns-indent)
	for i := range lines {
		lines[i] = strings.Repeat(" ", indent) + lines[i]
	}
	return strings.Join(lines, "\n")
}

// wrapped puts words into lines. A word that is wider than a line has one of its own.
func wrapped(words []string, width int) (lines []string) {
	line := ""
	for _, word := range words {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
