package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/model/scripted"
)

// support declares an agent with tools.
func support(tools ...svc.Tool) func(*svc.Runtime) {
	return func(rt *svc.Runtime) {
		rt.AddAgent(&svc.Agent{Name: "support", Instructions: "Help.", Model: "scripted/any", Tools: tools})
	}
}

// says is a message of a user.
func says(text string) svc.Prompt {
	return svc.Prompt{Message: conversation.Message{Kind: conversation.KindUser, Body: text}}
}

// printMessages prints a conversation.
func printMessages(messages []json.RawMessage) {
	for _, raw := range messages {
		var m conversation.View
		check(json.Unmarshal(raw, &m))
		fmt.Print(m.Role, ":")
		for _, p := range m.Parts {
			if p.Text != nil {
				fmt.Print(" ", *p.Text)
			} else {
				fmt.Printf(" [%s %s]", p.Type, p.Output)
			}
		}
		fmt.Println()
	}
}

// A prompt returns when it is durable. The reply is followed, or read when it is settled.
func ExampleScoped_Prompt() {
	rt, stop := serve(support(), scripted.Turn{scripted.Say("How ", "can I help?")})
	defer stop()
	ctx := context.Background()

	_, err := rt.Prompt(ctx, "support", "customer-1", says("Hello"))
	check(err)
	settle(rt, "support", "customer-1")
	snapshot, _, err := rt.Conversation(ctx, "support", "customer-1")
	check(err)
	printMessages(snapshot.Messages)
	// Output:
	// user: Hello
	// assistant: How can I help?
}

// A program tells an agent something. The key makes sure that it hears it once.
func ExampleScoped_Dispatch() {
	rt, stop := serve(support(), scripted.Turn{scripted.Say("Noted.")})
	defer stop()
	ctx := context.Background()

	shipped := svc.Prompt{Key: "delivery-7", Message: conversation.Message{
		Kind: conversation.KindSignal, Type: "order.shipped", Body: "The order is on its way.",
		Attributes: conversation.Attributes{{Name: "order", Value: "A1"}},
	}}
	_, err := rt.Dispatch(ctx, "support", "customer-1", shipped)
	check(err)
	again, err := rt.Dispatch(ctx, "support", "customer-1", shipped)
	fmt.Println(again.Replayed, err)
	// Output: true <nil>
}

func ExampleScoped_Abort() {
	rt, stop := serve(support(), scripted.Turn{scripted.Say("Let me think"), scripted.Hang()})
	defer stop()
	ctx := context.Background()

	p, err := rt.Prompt(ctx, "support", "customer-1", says("What is the last digit of pi?"))
	check(err)
	found, err := rt.Abort(ctx, "support", "customer-1", p.SubmissionID)
	fmt.Println(found, err)

	settle(rt, "support", "customer-1")
	snapshot, _, err := rt.Conversation(ctx, "support", "customer-1")
	check(err)
	var settlement struct{ Outcome string }
	check(json.Unmarshal(snapshot.Settlements[0], &settlement))
	fmt.Println(settlement.Outcome)
	// Output:
	// true <nil>
	// aborted
}

// Messages for an instance stand in line: one reply at a time.
func ExampleScoped_Submissions() {
	rt, stop := serve(support(), scripted.Turn{scripted.Hang()})
	defer stop()
	ctx := context.Background()
	for _, text := range []string{"First", "Second"} {
		_, err := rt.Prompt(ctx, "support", "customer-1", says(text))
		check(err)
	}

	waiting, err := rt.Submissions(ctx, "support", "customer-1")
	check(err)
	for _, w := range waiting {
		fmt.Println(w.Preview)
	}
	_, err = rt.Abort(ctx, "support", "customer-1", "") // all of them
	check(err)
	settle(rt, "support", "customer-1")
	// Output:
	// First
	// Second
}

func ExampleScoped_Conversation() {
	orders := svc.NewTool("count_orders", "How many orders there are.", func(context.Context, struct{}) (int, error) { return 3, nil })
	rt, stop := serve(support(orders),
		scripted.Turn{scripted.Call("count_orders", struct{}{})}, scripted.Turn{scripted.Say("You have 3.")})
	defer stop()
	ctx := context.Background()
	_, err := rt.Prompt(ctx, "support", "customer-1", says("How many orders have I?"))
	check(err)
	settle(rt, "support", "customer-1")

	snapshot, _, err := rt.Conversation(ctx, "support", "customer-1")
	check(err)
	printMessages(snapshot.Messages)
	// Output:
	// user: How many orders have I?
	// assistant: [dynamic-tool 3]
	// assistant: You have 3.
}

// A long history is read in pages.
func ExampleScoped_History() {
	rt, stop := serve(support(), scripted.Turn{scripted.Say("One.")}, scripted.Turn{scripted.Say("Two.")})
	defer stop()
	ctx := context.Background()
	for range 2 {
		_, err := rt.Prompt(ctx, "support", "customer-1", says("Count!"))
		check(err)
		settle(rt, "support", "customer-1")
	}

	history, err := rt.History(ctx, "support", "customer-1")
	check(err)
	for rows, err := range history.Rows(ctx, conversation.RowMessage, 1) {
		check(err)
		for _, row := range rows {
			printMessages([]json.RawMessage{row.Data})
		}
	}
	// Output:
	// user: Count!
	// assistant: One.
	// user: Count!
	// assistant: Two.
}

func ExampleScoped_ListAgents() {
	rt, stop := serve(support())
	defer stop()
	for _, a := range rt.ListAgents() {
		fmt.Println(a.Name, "over HTTP:", a.Transports.HTTP)
	}
	// Output: support over HTTP: false
}

// What is erased is gone everywhere; the next prompt begins anew.
func ExampleScoped_EraseConversation() {
	rt, stop := serve(support(), scripted.Turn{scripted.Say("Hello.")})
	defer stop()
	ctx := context.Background()
	_, err := rt.Prompt(ctx, "support", "customer-1", says("Hi"))
	check(err)
	settle(rt, "support", "customer-1")

	check(rt.EraseConversation(ctx, "support", "customer-1"))
	_, _, err = rt.Conversation(ctx, "support", "customer-1")
	fmt.Println(errors.Is(err, svc.ErrNoStream))
	// Output: true
}

// A tool is a function. What a model gives it is held to the type of its input.
func ExampleNewTool() {
	type question struct {
		City string `json:"city"`
	}
	weather := svc.NewTool("weather", "The weather in a city.", func(_ context.Context, q question) (string, error) {
		return "It rains in " + q.City + ".", nil
	})
	ctx := context.Background()

	result, err := weather.Call(ctx, []byte(`{"city": "Bergen"}`))
	fmt.Printf("%s %v\n", result.Output, err)
	_, err = weather.Call(ctx, []byte(`{"town": "Bergen"}`))
	fmt.Println(fault.From(err).Type)
	// Output:
	// "It rains in Bergen." <nil>
	// tool_input_validation
}

// A tool that is known only when the program runs says its JSON Schema itself.
func ExampleRawTool() {
	echo := svc.RawTool("echo", "Says it again.", json.RawMessage(`{"type": "object"}`),
		func(_ context.Context, input json.RawMessage) (svc.ToolResult, error) {
			return svc.ToolResult{Output: input}, nil
		})
	result, err := echo.Call(context.Background(), []byte(`{"a": 1}`))
	fmt.Printf("%s %v\n", result.Output, err)
	// Output: {"a": 1} <nil>
}

// A tool learns whose prompt it works for, and which call it is.
func ExampleCallOf() {
	cancel := svc.NewTool("cancel_order", "Cancels the customer's order.", func(ctx context.Context, _ struct{}) (string, error) {
		call, ok := svc.CallOf(ctx)
		if !ok || call.By != "customer-1" {
			return "", errors.New("only the customer may cancel it")
		}
		return "Cancelled for " + call.By + ".", nil
	})
	rt, stop := serve(support(cancel),
		scripted.Turn{scripted.Call("cancel_order", struct{}{})}, scripted.Turn{scripted.Say("Done.")})
	defer stop()
	ctx := context.Background()
	prompt := says("Cancel my order.")
	prompt.By = "customer-1"
	_, err := rt.Prompt(ctx, "support", "chat-1", prompt)
	check(err)
	settle(rt, "support", "chat-1")

	snapshot, _, err := rt.Conversation(ctx, "support", "chat-1")
	check(err)
	printMessages(snapshot.Messages)
	// Output:
	// user: Cancel my order.
	// assistant: [dynamic-tool "Cancelled for customer-1."]
	// assistant: Done.
}

// A test of a tool says what it is called for.
func ExampleWithCall() {
	whoami := svc.NewTool("whoami", "Says who asks.", func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := svc.CallOf(ctx)
		return call.By, nil
	})
	ctx := svc.WithCall(context.Background(), svc.Call{By: "ada"})
	result, err := whoami.Call(ctx, []byte(`{}`))
	fmt.Printf("%s %v\n", result.Output, err)
	// Output: "ada" <nil>
}

// An agent asks another of its scope. What that one says is a result, and its conversation survives like any other.
func ExampleAskTool() {
	ask := svc.AskTool("ask_agent", "Asks a colleague.", func(_ context.Context, agent string) error {
		if agent != "stock" {
			return errors.New("only the stock may be asked")
		}
		return nil
	})
	rt, stop := serve(func(rt *svc.Runtime) {
		support(ask)(rt)
		rt.AddAgent(&svc.Agent{Name: "stock", Instructions: "Know the stock.", Model: "scripted/any"})
	},
		scripted.Turn{scripted.Call("ask_agent", map[string]string{"agent": "stock", "prompt": "How many chairs?"})},
		scripted.Turn{scripted.Say("Twelve.")}, // the stock's
		scripted.Turn{scripted.Say("There are twelve chairs.")})
	defer stop()
	ctx := context.Background()
	_, err := rt.Prompt(ctx, "support", "customer-1", says("Are there chairs?"))
	check(err)
	settle(rt, "support", "customer-1")

	snapshot, _, err := rt.Conversation(ctx, "support", "customer-1")
	check(err)
	printMessages(snapshot.Messages)
	// Output:
	// user: Are there chairs?
	// assistant: [dynamic-tool "Twelve."]
	// assistant: There are twelve chairs.
}

// An agent with an Output answers with a value that fits: the output of the part give_result.
func ExampleOutputOf() {
	type ticket struct {
		Urgent bool   `json:"urgent"`
		Topic  string `json:"topic"`
	}
	rt, stop := serve(func(rt *svc.Runtime) {
		rt.AddAgent(&svc.Agent{Name: "triage", Model: "scripted/any", Output: svc.OutputOf[ticket]()})
	}, scripted.Turn{scripted.Call("give_result", ticket{Urgent: true, Topic: "billing"})})
	defer stop()
	ctx := context.Background()

	_, err := rt.Prompt(ctx, "triage", "mail-1", says("I was charged twice!"))
	check(err)
	settle(rt, "triage", "mail-1")
	snapshot, _, err := rt.Conversation(ctx, "triage", "mail-1")
	check(err)
	printMessages(snapshot.Messages)
	// Output:
	// user: I was charged twice!
	// assistant: [dynamic-tool {"urgent":true,"topic":"billing"}]
}
