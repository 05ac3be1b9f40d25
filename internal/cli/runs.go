package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// states are those of runs.
var states = []string{client.RunActive, client.RunCompleted, client.RunErrored}

func (h house) runsList() *cobra.Command {
	v := h.verb("list", "List runs, the newest first", "",
		`  svc runs list
  svc runs list --status errored --workflow digest --limit 5`, nil)
	status := v.Flags().String("status", "", "only active, completed or errored ones")
	workflow := v.Flags().String("workflow", "", "only those of one workflow")
	_ = v.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
	most := addLimit(v.Command)
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, _ []string) error {
		if *status != "" && !slices.Contains(states, *status) {
			return command.Usagef("there is no status %q%s", *status, command.Meant(*status, states))
		}
		query := url.Values{}
		for name, value := range map[string]string{"status": *status, "workflow": *workflow} {
			if value != "" {
				query.Set(name, value)
			}
		}
		all, err := list(v.Context(), c.api, "/runs", query, *most)
		if err != nil {
			return err
		}
		runs, err := decoded[client.Run](all.Items)
		if err != nil {
			return err
		}
		return answer(all, func(w io.Writer) {
			rows := make([][]string, len(runs))
			for i, r := range runs {
				rows[i] = []string{r.RunID, r.WorkflowName, r.Status, shownTime(r.StartedAt.Time), took(r)}
			}
			screen.Table(w, []string{"RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK"}, rows)
			sayMore(w, all)
		})
	})
}

func took(r client.Run) string {
	if r.DurationMs == nil {
		return ""
	}
	return shownDuration(*r.DurationMs)
}

func (h house) runsGet() *cobra.Command {
	v := h.verb("get RUN", "Show a run: what it was given, and what came of it", "",
		`  svc runs get run_01J9Z3NDEKTSV4RRFFQ69G5FAV
  svc runs get run_01J9Z3NDEKTSV4RRFFQ69G5FAV --json | jq .result`, command.Args(1, 1, "RUN"))
	v.ValidArgsFunction = v.completeRuns
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, args []string) error {
		r, err := c.api.Runs.Get(v.Context(), args[0])
		if err != nil {
			return err
		}
		return answer(r, func(w io.Writer) {
			rows := [][2]string{{"run", r.RunID}, {"workflow", r.WorkflowName}, {"status", r.Status}, {"started", shownTime(r.StartedAt.Time)}, {"took", took(r)}}
			if r.Error != nil {
				rows = append(rows, [2]string{"error", r.Error.Name + ": " + r.Error.Message})
			}
			for _, row := range append(rows, [2]string{"input", shownJSON(r.Input)}, [2]string{"result", shownJSON(r.Result)}) {
				if row[1] != "" {
					fmt.Fprintf(w, "%-9s %s\n", row[0], screen.Line(row[1]))
				}
			}
		})
	})
}

func shownJSON(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	return compact(raw)
}

func (h house) runsTail() *cobra.Command {
	v := h.verb("tail RUN", "Watch a run",
		`Show what has happened in a run, and what happens until it ends. The exit code is 1 if the run failed, or if it was not waited for.

With --json each event is one line, and "checkpoint" in it is what --after takes to go on behind it.`,
		`  svc runs tail run_01J9Z3NDEKTSV4RRFFQ69G5FAV
  svc runs tail run_01J9Z3NDEKTSV4RRFFQ69G5FAV --last 20 --no-follow`, command.Args(1, 1, "RUN"))
	v.ValidArgsFunction = v.completeRuns
	o := client.StreamOptions{}
	v.Flags().IntVarP(&o.Tail, "last", "n", 0, "only so many of the newest events (default all)")
	v.Flags().StringVar(&o.After, "after", "", "a checkpoint, or now (default the beginning)")
	noFollow := v.Flags().Bool("no-follow", false, "end with what there is")
	asJSON := command.JSONFlag(v.Command)
	return v.does(func(c *contact, args []string) error {
		if o.Tail < 0 {
			return command.Usagef("--last %d is less than none", o.Tail)
		}
		events := c.api.Runs.Stream(v.Context(), args[0], o)
		if *noFollow {
			events = c.api.Runs.Events(v.Context(), args[0], o)
		}
		teller := newTeller(v.OutOrStdout())
		if *asJSON {
			teller = newTeller(io.Discard)
			events = printedEvents(v.OutOrStdout(), events)
		}
		end, err := teller.until(events)
		if err != nil {
			return err
		}
		return failedRun(end)
	})
}

// printedEvents passes events on, and prints each on a line.
func printedEvents(w io.Writer, events func(func(client.Event, error) bool)) func(func(client.Event, error) bool) {
	return func(yield func(client.Event, error) bool) {
		for e, err := range events {
			if err == nil {
				err = command.PrintLine(w, step{Checkpoint: e.Checkpoint, Event: e.Raw})
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (h house) runsCancel() *cobra.Command {
	v := h.verb("cancel RUN", "Stop a run",
		`Stop a run: no further step of it begins. One that has ended stays as it is.`,
		`  svc runs cancel run_01J9Z3NDEKTSV4RRFFQ69G5FAV`, command.Args(1, 1, "RUN"))
	v.ValidArgsFunction = v.completeRuns
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, args []string) error {
		space, err := c.product()
		if err != nil {
			return err
		}
		var out struct {
			RunID     string `json:"runId"`
			Cancelled bool   `json:"cancelled"`
		}
		if err := space.Call(v.Context(), client.Request{Method: "POST", Path: "/runs/" + escaped(args[0]) + "/cancel"}, &out); err != nil {
			return err
		}
		return answer(out, func(w io.Writer) {
			fmt.Fprintln(w, map[bool]string{true: "It is being stopped.", false: "It had ended."}[out.Cancelled])
		})
	})
}

// escaped is a text as one segment of a path.
func escaped(segment string) string { return url.PathEscape(segment) }
