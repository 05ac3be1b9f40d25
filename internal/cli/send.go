package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// sending is what somebody says to an agent.
type sending struct {
	*verb
	json   *bool
	noWait *bool
	images *[]string
	key    *string
}

func (h house) agentsSend() *cobra.Command {
	v := h.verb("send AGENT CONVERSATION [TEXT...]", "Say something to an agent, and read the answer",
		`Say something to an agent in a conversation, which begins with the first message, and show what it answers as it comes. Without TEXT, or with "-", the text is read from standard input.

What the agent says goes to standard output; what it does with tools goes to standard error. Ctrl-C only stops the watching: the agent goes on.

With --json the answer comes whole. The exit code is 1 if the agent failed or was stopped.`,
		`  svc agents send central planning "What is left to do?"
  git diff | svc agents send reviewer today
  svc agents send central planning --no-wait "Sum up the week"`, command.Args(2, 1<<20, "AGENT", "CONVERSATION"))
	v.ValidArgsFunction = v.completeAgents
	s := sending{verb: v}
	s.noWait = v.Flags().Bool("no-wait", false, "do not wait for the answer")
	s.images = v.Flags().StringArray("image", nil, "a file to send along (may be repeated)")
	s.key = v.Flags().String("idempotency-key", "", "say it once, however often it is sent with this key")
	s.json = command.JSONFlag(v.Command)
	return v.does(s.send)
}

func (s sending) send(c *contact, args []string) error {
	prompt := client.Prompt{Key: *s.key}
	var err error
	if prompt.Body, err = textOf(args[2:], s.InOrStdin()); err != nil {
		return err
	}
	if prompt.Attachments, err = imagesOf(*s.images); err != nil {
		return err
	}
	sent, err := c.api.Agents.Send(s.Context(), args[0], args[1], prompt)
	switch {
	case err != nil:
		return err
	case *s.noWait && *s.json:
		return command.Print(s.OutOrStdout(), replied{Admission: sent})
	case *s.noWait:
		_, err := fmt.Fprintln(s.OutOrStdout(), screen.Line(sent.SubmissionID))
		return err
	case *s.json:
		return s.wait(c, sent)
	}
	return s.follow(c, sent)
}

// textOf is what is said: the arguments, or what comes in.
func textOf(args []string, in io.Reader) (string, error) {
	if len(args) > 0 && (len(args) > 1 || args[0] != "-") {
		return strings.Join(args, " "), nil
	}
	if len(args) == 0 && screen.IsTerminal(in) {
		return "", command.Usagef("TEXT is missing: give it as an argument or on standard input")
	}
	text, err := io.ReadAll(in)
	return strings.TrimSuffix(string(text), "\n"), err
}

func imagesOf(names []string) (all []client.Image, err error) {
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		media := http.DetectContentType(data)
		if !strings.HasPrefix(media, "image/") {
			return nil, command.Usagef("%s is not an image", name)
		}
		all = append(all, client.Image{MediaType: media, Filename: filepath.Base(name), Data: data})
	}
	return all, nil
}

// replied is what came of a message, for machines. Without waiting it is what was sent.
type replied struct {
	client.Admission
	Settlement *client.Settlement `json:"settlement,omitempty"`
	Text       string             `json:"text,omitempty"`
	Messages   []*client.Message  `json:"messages,omitempty"`
}

func (s sending) wait(c *contact, sent client.Admission) error {
	reply, err := c.api.Agents.Wait(s.Context(), sent)
	if err != nil && reply.Settlement.Outcome == "" {
		s.goesOn(err, sent)
		return err
	}
	out := replied{sent, &reply.Settlement, reply.Text(), reply.Messages}
	return errors.Join(command.Print(s.OutOrStdout(), out), err)
}

func (s sending) follow(c *contact, sent client.Admission) error {
	speaker := newSpeaker(s.OutOrStdout(), s.ErrOrStderr(), sent.SubmissionID)
	c.say = func(text string) { speaker.note("(%s)", text) }
	settled, err := speaker.until(c.api.Agents.Follow(s.Context(), sent), sent.SubmissionID)
	speaker.endLine()
	if err != nil {
		s.goesOn(err, sent)
		return err
	}
	return outcome(settled)
}

// goesOn says to somebody who stopped watching what there is to do.
func (s sending) goesOn(err error, sent client.Admission) {
	if isInterrupted(err) {
		where := quoted(sent.Agent, sent.Instance)
		fmt.Fprintf(s.ErrOrStderr(), "The agent goes on. Watch it with svc agents tail%s, stop it with svc agents abort%s\n", where, where)
	}
}

// until shows updates until a submission is settled.
func (s *speaker) until(updates func(func(client.Update, error) bool), submission string) (settled client.Settlement, err error) {
	for u, err := range updates {
		if err != nil {
			return settled, err
		}
		s.show(u)
		if u.Type == client.UpdateSettled && u.SubmissionID == submission {
			settled = client.Settlement{SubmissionID: u.SubmissionID, Outcome: u.Outcome, Error: u.Error}
		}
	}
	return settled, nil
}

// outcome is why a message was not answered.
func outcome(s client.Settlement) error {
	switch {
	case s.Outcome == client.Completed:
		return nil
	case s.Outcome == client.Aborted:
		return errors.New("the agent was stopped")
	case s.Error != nil:
		return errors.New("the agent failed: " + screen.Line(s.Error.Message+" "+s.Error.Details))
	}
	return errors.New("the agent failed")
}
