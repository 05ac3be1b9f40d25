package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/contract/program"
)

// example is a client of a contract program; done ends that.
func example() (c *client.Client, done func()) {
	folder, err := os.MkdirTemp("", "svc-client-")
	if err != nil {
		log.Fatal(err)
	}
	p, err := program.Start(context.Background(), program.Config{Database: "sqlite:" + filepath.Join(folder, "svc.db")})
	if err != nil {
		log.Fatal(err)
	}
	c, err = client.New(client.Config{BaseURL: p.URL, HTTP: plain})
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		plain.CloseIdleConnections()
		if err := errors.Join(p.Stop(), os.RemoveAll(folder)); err != nil {
			log.Fatal(err)
		}
	}
}

// A prompt is sent, and waited for.
func ExampleAgents_Wait() {
	c, done := example()
	defer done()
	ctx := context.Background()
	sent, err := c.Agents.Send(ctx, "assistant", "ticket-42", client.Prompt{Body: "n=3"})
	if err != nil {
		log.Fatal(err)
	}
	reply, err := c.Agents.Wait(ctx, sent)
	fmt.Printf("%s %q %v\n", reply.Settlement.Outcome, reply.Text(), err)
	// Output: completed "word0 word1 word2 " <nil>
}

// A reply is shown as it is spoken.
func ExampleAgents_Follow() {
	c, done := example()
	defer done()
	ctx := context.Background()
	sent, err := c.Agents.Send(ctx, "assistant", "ticket-42", client.Prompt{Body: "think n=3"})
	if err != nil {
		log.Fatal(err)
	}
	for u, err := range c.Agents.Follow(ctx, sent) {
		if err != nil {
			log.Fatal(err)
		}
		if u.Type == client.UpdateDelta && u.Kind == client.PartText {
			fmt.Print(u.Delta)
		}
	}
	// Output: word0 word1 word2
}

// A conversation is kept up to date, whatever happens to the connection.
func ExampleAgents_Observe() {
	c, done := example()
	defer done()
	ctx := context.Background()
	if _, err := c.Agents.Send(ctx, "tooluser", "sum", client.Prompt{Body: "What is 2 + 3?"}); err != nil {
		log.Fatal(err)
	}
	for seen, err := range c.Agents.Observe(ctx, "tooluser", "sum", client.ObserveOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		if len(seen.Conversation.Settlements) == 0 {
			continue
		}
		for _, m := range seen.Conversation.Messages {
			for _, p := range m.Parts {
				fmt.Println(m.Role, p.Type, p.Text+p.ToolName, p.State)
			}
		}
		break
	}
	// Output:
	// user text What is 2 + 3? done
	// assistant dynamic-tool add output-available
	// assistant text 5 done
}

// A prompt with a key of one's own is one, however often it is sent.
func ExampleAgents_Send() {
	c, done := example()
	defer done()
	for range 2 {
		sent, err := c.Agents.Send(context.Background(), "assistant", "ticket-42", client.Prompt{Body: "n=1", Key: "mail-17"})
		fmt.Println(sent.Replayed, err)
	}
	// Output:
	// false <nil>
	// true <nil>
}

// A workflow is run to its end.
func ExampleWorkflows_Run() {
	c, done := example()
	defer done()
	result, err := c.Workflows.Run(context.Background(), "steps", client.Invocation{Input: map[string]int{"n": 4}})
	fmt.Printf("%s %v\n", result.Value, err)
	_, err = c.Workflows.Run(context.Background(), "failing", client.Invocation{})
	failed, _ := errors.AsType[*client.Error](err)
	fmt.Println(failed.Target, failed.Type, failed.Message)
	// Output:
	// {"sum":6} <nil>
	// workflow_run run_failed failed on purpose
}

// A run's events come as they happen, and again from a checkpoint.
func ExampleRuns_Stream() {
	c, done := example()
	defer done()
	ctx := context.Background()
	id, err := c.Workflows.Invoke(ctx, "chatty", client.Invocation{Input: map[string]int{"n": 2}})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range c.Runs.Stream(ctx, id, client.StreamOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		var line client.LogLine
		if err := event.Decode(&line); err != nil {
			log.Fatal(err)
		}
		fmt.Println(strings.TrimSpace(fmt.Sprint(event.Index, " ", event.Type, " ", line.Message)))
	}
	// Output:
	// 0 run_start
	// 1 log line 0
	// 2 log line 1
	// 3 run_end
}

// A run is looked up.
func ExampleRuns_Get() {
	c, done := example()
	defer done()
	ctx := context.Background()
	result, err := c.Workflows.Run(ctx, "trivial", client.Invocation{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := c.Runs.Get(ctx, result.RunID)
	fmt.Println(run.WorkflowName, run.Status, string(run.Result), err)
	// Output: trivial completed {"ok":true} <nil>
}

// What the server refuses has a type for machines.
func ExampleIs() {
	c, done := example()
	defer done()
	_, err := c.Agents.History(context.Background(), "assistant", "nobody")
	fmt.Println(client.Is(err, "stream_not_found"))
	// Output: true
}

// Routes that have no method of their own are asked with the same care.
func ExampleClient_Call() {
	c, done := example()
	defer done()
	var answer struct{ Submissions []client.Submission }
	err := c.Call(context.Background(), client.Request{Path: "/agents/assistant/idle/submissions"}, &answer)
	fmt.Println(len(answer.Submissions), err)
	// Output: 0 <nil>
}
