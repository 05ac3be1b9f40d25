package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/profile"
	"svc.dev/svc/internal/command"
)

func newCompletion() *cobra.Command {
	cmd := command.New("completion bash|zsh|fish", "Complete commands and names with the Tab key",
		`Print what makes a shell complete svc's commands, flags and the names of agents, workflows, runs, projects and profiles. Names of a service are asked for with the profile that the command would use.`,
		`  source <(svc completion bash)
  svc completion zsh > "${fpath[1]}/_svc"
  svc completion fish > ~/.config/fish/completions/svc.fish`)
	cmd.Args = command.Args(1, 1, "bash, zsh or fish")
	cmd.ValidArgs = []string{"bash", "zsh", "fish"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		root, w := cmd.Root(), cmd.OutOrStdout()
		switch args[0] {
		case "bash":
			if err := root.GenBashCompletionV2(w, true); err != nil {
				return err
			}
			_, err := io.WriteString(w, bashAlone)
			return err
		case "zsh":
			return root.GenZshCompletion(w)
		case "fish":
			return root.GenFishCompletion(w, true)
		}
		return command.Usagef("there is no completion for %q%s", args[0], command.Meant(args[0], cmd.ValidArgs))
	}
	return cmd
}

// bashAlone lets bash complete without the package bash-completion, which not every machine has: the words are then those that bash
// itself finds.
const bashAlone = `
if ! declare -F _init_completion >/dev/null 2>&1 && ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    __svc_init_completion()
    {
        COMPREPLY=()
        words=("${COMP_WORDS[@]}")
        cword=${COMP_CWORD}
        cur=${COMP_WORDS[COMP_CWORD]}
        prev=${COMP_WORDS[COMP_CWORD-1]}
    }
fi
`

func completeProfiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if store, err := profile.Home(); err == nil && len(args) == 0 {
		names, _ = store.List() // what cannot be listed is not offered
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// soon is how long somebody waits who pressed Tab.
const soon = 2 * time.Second

// offer is the names of a list that begin as what is typed does. A service that is not there offers nothing.
func (v *verb) offer(read func(context.Context, *contact) ([]string, error), typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	c, err := v.reach()
	if err != nil {
		return nil, none
	}
	c.say = func(string) {}
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	names, err := read(ctx, c)
	if err != nil {
		return nil, none
	}
	var fit []string
	for _, name := range names {
		// What a shell would have to quote is typed by hand: it comes from a service, and ends up in a command.
		if strings.HasPrefix(name, typed) && plain.MatchString(name) {
			fit = append(fit, name)
		}
	}
	return fit, none
}

// named reads the names in a list of the product.
func named(path string) func(context.Context, *contact) ([]string, error) {
	return func(ctx context.Context, c *contact) (names []string, err error) {
		space, err := c.product()
		if err != nil {
			return nil, err
		}
		all, err := list(ctx, space, path, nil, largest)
		if err != nil {
			return nil, err
		}
		items, err := decoded[struct{ Name, Slug, Instance string }](all.Items)
		for _, item := range items {
			names = append(names, item.Slug+item.Instance)
			if item.Slug+item.Instance == "" {
				names[len(names)-1] = item.Name
			}
		}
		return names, err
	}
}

// completeAgents offers agents, and then their conversations.
func (v *verb) completeAgents(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return v.offer(named("/agents"), typed)
	case 1:
		return v.offer(named("/agents/"+escaped(args[0])+"/conversations"), typed)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (v *verb) completeWorkflows(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return v.offer(named("/workflows"), typed)
}

func (v *verb) completeRuns(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return v.offer(func(ctx context.Context, c *contact) (ids []string, err error) {
		page, err := c.api.Runs.List(ctx, client.RunQuery{Limit: 20})
		for _, run := range page.Items {
			ids = append(ids, run.RunID)
		}
		return ids, err
	}, typed)
}
