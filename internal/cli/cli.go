// Package cli is svc for those who use a service: they sign in, talk to agents, run workflows, follow runs and keep files, from a
// terminal or a script. It knows the service by its HTTP API alone.
package cli

import (
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// Variables of the environment that take the place of a profile.
const (
	BaseVariable    = "SVC_BASE_URL"
	KeyVariable     = "SVC_API_KEY"
	ProfileVariable = "SVC_PROFILE"
)

// Variables are all of them.
func Variables() []string { return []string{BaseVariable, KeyVariable, ProfileVariable} }

// Commands are the verbs of people. The version is that of this build.
func Commands(version string) []*cobra.Command {
	h := house{version}
	return []*cobra.Command{
		h.login(), h.logout(), h.whoami(),
		command.Group("profiles", "Choose between several services", h.profilesList(), h.profilesUse()),
		h.chat(),
		command.Group("agents", "Talk to agents", h.agentsList(), h.agentsSend(), h.agentsTail(), h.agentsHistory(), h.agentsAbort()),
		command.Group("workflows", "Run workflows", h.workflowsList(), h.workflowsRun()),
		command.Group("runs", "Look at runs", h.runsList(), h.runsGet(), h.runsTail(), h.runsCancel()),
		command.Group("projects", "Keep files", h.projectsLs(), h.projectsCreate(), h.projectsGet(), h.projectsPut(), h.projectsSync()),
		newCompletion(),
	}
}

// Said is an error as a terminal shows it: others may have written some of it.
func Said(err error) string { return screen.Clean(err.Error()) }

// house is what all verbs share.
type house struct{ version string }

// client is what the program calls itself.
func (h house) client() string { return "svc/" + h.version }

// verb is a command that asks a service: it has the flags that say which.
type verb struct {
	*cobra.Command
	house   house
	profile string
	base    string
}

// verb declares one. The use names its arguments in capitals.
func (h house) verb(use, short, long, example string, args cobra.PositionalArgs) *verb {
	v := &verb{Command: command.New(use, short, long, example), house: h}
	if args != nil {
		v.Args = args
	}
	v.Flags().StringVar(&v.profile, "profile", "", "the profile to use (default $"+ProfileVariable+", or the current one)")
	v.Flags().StringVar(&v.base, "base-url", "", "address of the API instead of a profile's (default $"+BaseVariable+"); its key is $"+KeyVariable)
	_ = v.RegisterFlagCompletionFunc("profile", completeProfiles) // fails only for a flag that is not there
	return v
}

// does says what the verb does with the service that it asks.
func (v *verb) does(do func(c *contact, args []string) error) *cobra.Command {
	v.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := v.reach()
		if err != nil {
			return err
		}
		return c.explain(do(c, args))
	}
	return v.Command
}

// shownTime is a time as tables have it.
func shownTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// shownDuration is a number of milliseconds as people say it.
func shownDuration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// plain are arguments that a shell takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+-]+$`)

// quoted are arguments as they are typed after a command.
func quoted(args ...string) (text string) {
	for _, arg := range args {
		if arg = screen.Clean(arg); !plain.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		text += " " + arg
	}
	return text
}
