package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// agent is one as a list shows it to people.
type agent struct {
	Name, Description, Model, Source string
	Enabled, Exposed                 bool
	Shadowed                         string
}

func (a agent) state() string {
	switch {
	case a.Shadowed != "":
		return "shadowed"
	case !a.Enabled:
		return "disabled"
	case !a.Exposed:
		return "internal"
	}
	return "exposed"
}

func (h house) agentsList() *cobra.Command {
	v := h.verb("list", "List the agents of a workspace",
		`List the agents of a workspace. A key reaches those that are exposed.`,
		`  svc agents list
  svc agents list --json | jq -r '.items[].name'`, nil)
	most := addLimit(v.Command)
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, _ []string) error {
		space, err := c.product()
		if err != nil {
			return err
		}
		all, err := list(v.Context(), space, "/agents", nil, *most)
		if err != nil {
			return err
		}
		agents, err := decoded[agent](all.Items)
		if err != nil {
			return err
		}
		return answer(all, func(w io.Writer) {
			rows := make([][]string, len(agents))
			for i, a := range agents {
				rows[i] = []string{a.Name, a.state(), a.Model, a.Source, screen.Cut(a.Description, 60)}
			}
			screen.Table(w, []string{"AGENT", "STATE", "MODEL", "SOURCE", "DESCRIPTION"}, rows)
			sayMore(w, all)
		})
	})
}

// addLimit adds the flag that says how much of a list is wanted.
func addLimit(cmd *cobra.Command) *uint32 {
	return cmd.Flags().Uint32("limit", 50, "how many at most; 0 is all")
}

// sayMore says that a list goes on.
func sayMore(w io.Writer, all found) {
	if all.More {
		fmt.Fprintln(w, "There are more: see --limit.")
	}
}

func (h house) agentsAbort() *cobra.Command {
	v := h.verb("abort AGENT CONVERSATION", "Stop what an agent works on",
		`Stop what an agent works on in a conversation, and what waits there; or one submission of it. What was said until then stays.`,
		`  svc agents abort central planning
  svc agents abort central planning --submission 3f0e…`, command.Args(2, 2, "AGENT", "CONVERSATION"))
	v.ValidArgsFunction = v.completeAgents
	submission := v.Flags().String("submission", "", "the one to stop (default all)")
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, args []string) error {
		aborted, err := c.api.Agents.Abort(v.Context(), args[0], args[1], *submission)
		if err != nil {
			return err
		}
		return answer(map[string]any{"aborted": aborted}, func(w io.Writer) {
			fmt.Fprintln(w, map[bool]string{true: "It is being stopped.", false: "There was nothing to stop."}[aborted])
		})
	})
}
