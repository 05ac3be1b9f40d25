package cli

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

func (h house) workflowsList() *cobra.Command {
	v := h.verb("list", "List the workflows of a workspace", "", "  svc workflows list", nil)
	most := addLimit(v.Command)
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, _ []string) error {
		space, err := c.product()
		if err != nil {
			return err
		}
		all, err := list(v.Context(), space, "/workflows", nil, *most)
		if err != nil {
			return err
		}
		flows, err := decoded[struct {
			Name, Description    string
			Exposed, RunsExposed bool
		}](all.Items)
		if err != nil {
			return err
		}
		return answer(all, func(w io.Writer) {
			rows := make([][]string, len(flows))
			for i, f := range flows {
				rows[i] = []string{f.Name, yes(f.Exposed), yes(f.RunsExposed), screen.Cut(f.Description, 60)}
			}
			screen.Table(w, []string{"WORKFLOW", "EXPOSED", "RUNS EXPOSED", "DESCRIPTION"}, rows)
			sayMore(w, all)
		})
	})
}

func yes(is bool) string { return map[bool]string{true: "yes", false: "no"}[is] }

// invoking is a run that somebody starts.
type invoking struct {
	*verb
	json   *bool
	noWait *bool
	input  *string
	key    *string
}

func (h house) workflowsRun() *cobra.Command {
	v := h.verb("run WORKFLOW", "Start a run, and wait for its result",
		`Start a run of a workflow and wait for its result, which goes to standard output as JSON; what happens meanwhile goes to standard error. The exit code is 1 if the run failed.

Ctrl-C only stops the waiting: the run goes on, and svc runs tail shows it.`,
		`  svc workflows run digest --input '{"project":"docs"}'
  svc workflows run digest --input @input.json --no-wait
  jq -n '{project:"docs"}' | svc workflows run digest --input -`, command.Args(1, 1, "WORKFLOW"))
	v.ValidArgsFunction = v.completeWorkflows
	i := invoking{verb: v}
	i.input = v.Flags().String("input", "", "JSON, @FILE or - for standard input (default none)")
	i.noWait = v.Flags().Bool("no-wait", false, "do not wait for the result: print the run's id")
	i.key = v.Flags().String("idempotency-key", "", "start one run, however often it is asked for with this key")
	i.json = command.JSONFlag(v.Command)
	return v.does(i.run)
}

// ended is what came of a run, for machines. One that nobody waited for has its id alone.
type ended struct {
	RunID  string          `json:"runId"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *runFailure     `json:"error,omitempty"`
}

type runFailure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (i invoking) run(c *contact, args []string) error {
	in := client.Invocation{Key: *i.key}
	if in.Key == "" {
		in.Key = rand.Text() // what is asked for again, in whatever way, is the same run
	}
	if i.Flags().Changed("input") {
		input, err := command.Input("input", *i.input, i.InOrStdin())
		if err != nil {
			return err
		}
		in.Input = input
	}
	id, err := c.api.Workflows.Invoke(i.Context(), args[0], in)
	switch {
	case err != nil:
		return err
	case *i.noWait && *i.json:
		return command.Print(i.OutOrStdout(), ended{RunID: id})
	case *i.noWait:
		_, err := fmt.Fprintln(i.OutOrStdout(), screen.Line(id))
		return err
	}
	result, err := i.wait(c, args[0], id, in)
	if isInterrupted(err) {
		fmt.Fprintf(i.ErrOrStderr(), "The run goes on: svc runs tail%s\n", quoted(id))
		return err
	}
	return i.tell(id, result, err)
}

// wait shows the events of a run, and returns its result. Where nobody may see its events the service is asked to hold its answer.
func (i invoking) wait(c *contact, workflow, id string, in client.Invocation) (json.RawMessage, error) {
	if !*i.json {
		c.say(id)
	}
	teller := newTeller(io.Discard)
	if !*i.json {
		teller = newTeller(i.ErrOrStderr())
	}
	end, err := teller.until(c.api.Runs.Stream(i.Context(), id, client.StreamOptions{}))
	if client.Is(err, fault.RunNotFound) {
		held, err := c.api.Workflows.Run(i.Context(), workflow, in)
		return held.Value, err
	}
	if err != nil {
		return nil, err
	}
	return end.Result, failedRun(end)
}

// failedRun is why a run has no result.
func failedRun(end client.RunEnd) error {
	if !end.IsError {
		return nil
	}
	e := &client.Error{Type: client.RunFailed, Message: "The run failed.", Target: client.TargetRun}
	if end.Error != nil {
		e.Message = end.Error.Message
		if end.Error.Name != "" && end.Error.Name != "Error" {
			e.Message = end.Error.Name + ": " + e.Message
		}
	}
	return e
}

func (i invoking) tell(id string, result json.RawMessage, err error) error {
	e, failed := errors.AsType[*client.Error](err)
	if failed && e.Target != client.TargetRun {
		return err
	}
	out := ended{RunID: id, Result: result}
	if failed {
		out.Result, out.Error = nil, &runFailure{e.Type, e.Message}
	}
	if *i.json {
		return errors.Join(command.Print(i.OutOrStdout(), out), err)
	}
	if failed {
		return fmt.Errorf("%s failed: %s", screen.Line(id), screen.Line(e.Message))
	}
	return command.Print(i.OutOrStdout(), out.Result)
}
