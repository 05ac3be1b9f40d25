package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/command"
)

func (h house) agentsHistory() *cobra.Command {
	v := h.verb("history AGENT CONVERSATION", "Show what was said in a conversation", "",
		`  svc agents history central planning
  svc agents history central planning --last 2 --json`, command.Args(2, 2, "AGENT", "CONVERSATION"))
	v.ValidArgsFunction = v.completeAgents
	last := v.Flags().Int("last", 0, "only so many of the newest messages (default all)")
	asJSON := command.JSONFlag(v.Command)
	return v.does(func(c *contact, args []string) error {
		told, err := c.api.Agents.History(v.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		told.Messages = newest(told.Messages, *last)
		if *asJSON {
			return command.Print(v.OutOrStdout(), told)
		}
		speaker := newSpeaker(v.OutOrStdout(), v.OutOrStdout(), "")
		for _, m := range told.Messages {
			speaker.message(m, args[0])
		}
		speaker.endLine()
		return nil
	})
}

// newest are the last of some messages; 0 is all.
func newest(all []*client.Message, most int) []*client.Message {
	if most <= 0 || most >= len(all) {
		return all
	}
	return all[len(all)-most:]
}

// step is one line of a stream for machines: what happened, and where to go on when it was taken.
type step struct {
	Checkpoint string          `json:"checkpoint"`
	Update     *client.Update  `json:"update,omitempty"`
	Event      json.RawMessage `json:"event,omitempty"`
}

func (h house) agentsTail() *cobra.Command {
	v := h.verb("tail AGENT CONVERSATION", "Watch a conversation",
		`Show the newest messages of a conversation, and then what happens in it until Ctrl-C is pressed.

With --json each update is one line, and "checkpoint" in it is what --after takes to go on behind it: nothing is missed, whoever stops in between.`,
		`  svc agents tail central planning
  svc agents tail central planning --json --after -1 --no-follow`, command.Args(2, 2, "AGENT", "CONVERSATION"))
	v.ValidArgsFunction = v.completeAgents
	last := v.Flags().IntP("last", "n", 10, "how many of the newest messages come first")
	after := v.Flags().String("after", "", "with --json: a checkpoint, or -1 for the beginning (default now)")
	noFollow := v.Flags().Bool("no-follow", false, "end with what there is")
	asJSON := command.JSONFlag(v.Command)
	return v.does(func(c *contact, args []string) (err error) {
		switch {
		case *asJSON:
			err = tailJSON(v, c, args, *after, *noFollow)
		case *after != "":
			return command.Usagef("--after needs --json")
		default:
			err = tailWords(v, c, args, *last, *noFollow)
		}
		if isInterrupted(err) {
			return nil // that is how it ends
		}
		return err
	})
}

func tailJSON(v *verb, c *contact, args []string, after string, noFollow bool) error {
	o := client.StreamOptions{After: after}
	if noFollow {
		o.Live = client.CatchUp
	}
	if after == "" {
		told, err := c.api.Agents.History(v.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		o.After = told.Offset
	}
	for u, err := range c.api.Agents.Updates(v.Context(), args[0], args[1], o) {
		if err != nil {
			return err
		}
		if err := command.PrintLine(v.OutOrStdout(), step{Checkpoint: u.Checkpoint, Update: &u}); err != nil {
			return err
		}
	}
	return nil
}

func tailWords(v *verb, c *contact, args []string, last int, noFollow bool) error {
	told, err := c.api.Agents.History(v.Context(), args[0], args[1])
	if err != nil {
		return err
	}
	speaker := newSpeaker(v.OutOrStdout(), v.OutOrStdout(), "")
	c.say = func(text string) { speaker.note("(%s)", text) }
	defer speaker.endLine()
	recent := told.Messages
	if last < len(recent) {
		recent = recent[len(recent)-max(0, last):]
	}
	for _, m := range recent {
		speaker.message(m, args[0])
	}
	if noFollow {
		return nil
	}
	for seen, err := range c.api.Agents.Observe(v.Context(), args[0], args[1], client.ObserveOptions{From: told}) {
		if err != nil {
			return err
		}
		for _, u := range seen.Updates {
			speaker.show(u)
			if u.Type == client.UpdateSettled && u.Outcome != client.Completed {
				speaker.endLine()
				fmt.Fprintln(v.OutOrStdout(), speaker.style.Bad(outcome(client.Settlement{Outcome: u.Outcome, Error: u.Error}).Error()))
			}
		}
	}
	return nil
}
