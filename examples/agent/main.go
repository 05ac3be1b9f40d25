// Command agent is a conversation in the terminal that survives: stop it wherever you like, even within a reply, start it
// again, and it goes on. Its model is scripted and needs no key; its tools are real.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/stream"
)

var me = svc.Stream{Kind: svc.KindAgent, Name: "helper", ID: "me"}

type product struct{ A, B float64 }

func multiply(_ context.Context, p product) (float64, error) { return p.A * p.B, nil }
func clock(_ context.Context, _ struct{}) (string, error)    { return time.Now().Format("15:04:05"), nil }

// think is the model: it has two tricks, and says how much it remembers. What was broken off within a reply goes on there.
func think(r model.Request) scripted.Turn {
	before, told := scripted.Unbroken(r.Messages)
	last := before[len(before)-1]
	if last.Role == model.RoleTool {
		return say("That makes "+*last.Parts[0].Result.Content[0].Text+".", told)
	}
	text, p := *last.Parts[0].Text, product{}
	if n, _ := fmt.Sscanf(text, "%f * %f", &p.A, &p.B); n == 2 {
		return append(say("Let me see.", told), scripted.Call("multiply", p))
	}
	if strings.Contains(text, "time") {
		return append(say("I look at the clock.", told), scripted.Call("clock", struct{}{}))
	}
	return say(fmt.Sprintf("I remember %d messages before this one. Ask me for the time, or: 6 * 7", len(before)-1), told)
}

// say speaks the words of a text that were not told yet.
func say(text string, told []model.Part) (turn scripted.Turn) {
	words := strings.SplitAfter(text, " ")
	for _, part := range told {
		if part.Text != nil {
			words = words[min(len(words), len(strings.Fields(*part.Text))):]
		}
	}
	for _, word := range words {
		turn = append(turn, scripted.Wait(60*time.Millisecond), scripted.Say(word))
	}
	return turn
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	store, err := sqlstore.Open(ctx, "sqlite:agent.db", sqlstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": scripted.Choose(think)}.Find})
	if err != nil {
		log.Fatal(err)
	}
	rt.AddAgent(&svc.Agent{Name: me.Name, Model: "scripted/helper", Tools: []svc.Tool{
		svc.NewTool("clock", "Tell the time.", clock), svc.NewTool("multiply", "Multiply two numbers.", multiply),
	}})
	running, ended := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error { defer ended(); return rt.Run(ctx) }) // ends what is being said, then itself
	group.Go(func() error { defer stop(); return talk(ctx, running, rt) })
	if err := errors.Join(group.Wait(), store.Close()); err != nil {
		log.Fatal(err)
	}
}

// talk finishes what the last run left open, then answers line by line until there are no more.
func talk(ctx, running context.Context, rt *svc.Runtime) error {
	lines := make(chan string)
	go func() { // ends with the process: nothing else ends a read of a terminal
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	prompt := map[bool]string{true: "> "}[term.IsTerminal(int(os.Stdin.Fd()))]
	tail, _ := rt.Tail(ctx, me) // zero: nothing was ever said
	left, err := rt.Submissions(ctx, me.Name, me.ID)
	if len(left) > 0 {
		tail.Head, err = show(running, rt, tail.Head)
	}
	for err == nil && ctx.Err() == nil {
		fmt.Print(prompt)
		select {
		case <-ctx.Done():
			fmt.Println()
		case line, more := <-lines:
			if !more {
				return nil
			}
			if _, err = rt.Prompt(ctx, me.Name, me.ID, svc.Prompt{Message: conversation.Message{Kind: "user", Body: line}}); err == nil {
				tail.Head, err = show(running, rt, tail.Head)
			}
		}
	}
	return err
}

// show prints what is written after an offset, as it is written, until a prompt is answered; it returns how far that is.
func show(ctx context.Context, rt *svc.Runtime, after stream.Offset) (stream.Offset, error) {
	f := rt.Follow(me)
	defer f.Close()
	for {
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		if err != nil {
			return after, err
		}
		var updates []struct {
			Type, Delta, ToolName string
			Input, Output         json.RawMessage
		}
		_ = json.Unmarshal(page.JSON(), &updates)
		for _, u := range updates {
			switch u.Type {
			case "message-delta":
				fmt.Print(u.Delta)
			case "tool-input":
				fmt.Printf("\n  %s %s", u.ToolName, u.Input)
			case "tool-output":
				fmt.Printf("  = %s\n", u.Output)
			case "message-completed":
				fmt.Println()
			case "submission-settled":
				return page.Next, nil
			}
		}
		if after = page.Next; page.Tail {
			select {
			case <-wake:
			case <-ctx.Done():
				return after, nil // the next run goes on
			}
		}
	}
}
