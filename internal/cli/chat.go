package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/cli/typing"
	"svc.dev/svc/internal/command"
)

// mainAgent is whom every workspace has.
const mainAgent = "central"

// talk is a conversation as somebody has it at a terminal, or a program through a pipe.
type talk struct {
	*verb
	*contact
	agent, id string
	speaker   *speaker
	// interrupts are those of whoever types: one stops an answer, two leave.
	interrupts <-chan struct{}
	// unsure is what was said last, and its key, where nobody knows whether it was heard: said again, it is the same.
	unsure struct{ text, key string }
}

func (h house) chat() *cobra.Command {
	v := h.verb("chat [AGENT [CONVERSATION]]", "Talk to an agent in the terminal",
		`Talk to an agent, line by line. AGENT defaults to `+mainAgent+`; without CONVERSATION a new one begins, and its name is shown for the next time.

On a terminal, the arrow keys bring back what was typed before, Alt-Enter begins another line, and a pasted text of many lines is sent as one. Ctrl-C stops an answer, and once more it leaves; so does Ctrl-D.

In a pipe each line is a message, and the next is sent when the one before is answered: what the agent says goes to standard output, what it does with tools to standard error. With --json, each update is a line.`,
		`  svc chat
  svc chat reviewer today
  echo 'What is left to do?' | svc chat central planning`, command.Args(0, 2))
	v.ValidArgsFunction = v.completeAgents
	asJSON := command.JSONFlag(v.Command)
	return v.does(func(c *contact, args []string) error {
		t := &talk{verb: v, contact: c, agent: mainAgent, id: newConversation()}
		if len(args) > 0 {
			t.agent = args[0]
		}
		if len(args) > 1 {
			t.id = args[1]
		}
		in, out := v.InOrStdin(), v.OutOrStdout()
		if !*asJSON && screen.IsTerminal(in) && screen.IsTerminal(out) {
			return t.atTerminal(in.(*os.File), out.(*os.File))
		}
		return t.inPipe(in, *asJSON)
	})
}

// newConversation is a name that nobody has used.
func newConversation() string {
	return "chat-" + time.Now().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:6])
}

// atTerminal talks until whoever types leaves.
func (t *talk) atTerminal(in, out *os.File) (err error) {
	left, told, err := t.look()
	if err != nil {
		return err
	}
	k, err := typing.Open(in, out)
	if err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	style := screen.StyleOf(out)
	t.speaker = &speaker{out: k, aside: k, style: style, one: true, clean: true, ours: map[string]bool{}}
	t.say = func(text string) { t.speaker.note("(%s)", text) }
	t.interrupts = k.Interrupts()
	fmt.Fprintf(k, "%s %s\n", style.Bold(screen.Line(t.agent)), style.Dim("· "+screen.Line(t.id)+" · "+screen.Line(cmp.Or(t.contact.profile.Workspace, t.contact.profile.BaseURL))))
	fmt.Fprintln(k, style.Dim("Ctrl-C stops an answer, Ctrl-D leaves."))
	t.recall(k, told)
	stay := true
	if left != nil {
		stay = t.hear(t.Context(), *left, false)
	}
	for stay && t.Context().Err() == nil {
		line, err := k.Line(t.Context(), style.Bold("› "))
		if err != nil {
			break
		}
		if strings.TrimSpace(line) != "" {
			stay = t.tell(line)
		}
	}
	fmt.Fprintln(k, style.Dim("Go on with: svc chat"+quoted(t.agent, t.id)))
	return nil
}

// look is what there is of the conversation: what is being answered, and what was said. One that has not begun is empty.
func (t *talk) look() (left *client.Admission, told *client.Conversation, err error) {
	// What is unsettled is asked for first: what settles in between is found in history.
	waiting, err := t.api.Agents.Submissions(t.Context(), t.agent, t.id)
	if err != nil {
		return nil, nil, err
	}
	told, err = t.api.Agents.History(t.Context(), t.agent, t.id)
	if client.Is(err, fault.StreamNotFound) {
		return nil, &client.Conversation{}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	settled := map[string]bool{}
	for _, s := range told.Settlements {
		settled[s.SubmissionID] = true
	}
	for _, w := range waiting {
		if w.Kind == "direct" && !settled[w.SubmissionID] {
			left = &client.Admission{Agent: t.agent, Instance: t.id, SubmissionID: w.SubmissionID, Offset: told.Offset, StreamURL: t.address()}
		}
	}
	return left, told, nil
}

// address is where the conversation's stream is.
func (t *talk) address() string {
	return strings.TrimSuffix(t.contact.profile.BaseURL, "/") + "/agents/" + escaped(t.agent) + "/" + escaped(t.id)
}

// recalled is how many messages of before are shown.
const recalled = 10

// recall shows what was said last, and puts what was asked into the history of the line.
func (t *talk) recall(k *typing.Keyboard, told *client.Conversation) {
	for _, m := range told.Messages {
		if m.Role == "user" {
			k.Remember(screen.Clean(m.Text()))
		}
	}
	for _, m := range newest(told.Messages, recalled) {
		t.speaker.message(m, t.agent)
	}
}

// tell says something and shows the answer. It reports whether the conversation goes on.
func (t *talk) tell(text string) (stay bool) {
	// What is on its way may have been admitted: the first Ctrl-C waits for that and stops it, the second waits no longer.
	asked, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ctx, cancel := lingering(asked)
	defer cancel()
	ended := make(chan struct{})
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for _, stop := range []func(){interrupt, cancel} {
			select {
			case <-ended:
				return
			case <-t.interrupts:
				stop()
			}
		}
	}()
	sent, err := t.send(ctx, text)
	close(ended)
	<-taken
	if err != nil {
		t.complain(err)
		return true
	}
	t.speaker.mine = sent.SubmissionID
	return t.hear(t.Context(), sent, asked.Err() != nil)
}

// send says something, once: what may have been heard is not said a second time when it is typed again.
func (t *talk) send(ctx context.Context, text string) (client.Admission, error) {
	key := rand.Text()
	if t.unsure.text == text {
		key = t.unsure.key
	}
	t.unsure.text, t.unsure.key = "", ""
	sent, err := t.api.Agents.Send(ctx, t.agent, t.id, client.Prompt{Body: text, Key: key})
	if e, ok := errors.AsType[*client.Error](err); ok && (e.Status == 0 || e.Status >= 500) {
		t.unsure.text, t.unsure.key = text, key
	}
	return sent, err
}

// complain says what went wrong, and stays.
func (t *talk) complain(err error) {
	t.speaker.endLine()
	fmt.Fprintln(t.speaker.out, t.speaker.style.Bad(t.explain(err).Error()))
}

// hear shows an answer until it has ended. The first interrupt, which may have come before, stops the agent, the second one leaves.
func (t *talk) hear(ctx context.Context, sent client.Admission, interrupted bool) (stay bool) {
	ctx, cancel := context.WithCancel(ctx)
	s := newStopper(t, sent, interrupted, cancel)
	settled, err := t.speaker.until(t.api.Agents.Follow(ctx, sent), sent.SubmissionID)
	left, unstopped := s.end()
	t.speaker.endLine()
	if unstopped != nil {
		t.complain(unstopped)
	}
	switch {
	case left || t.Context().Err() != nil:
		return false
	case unstopped != nil:
	case err != nil:
		t.complain(err)
	case settled.Outcome == client.Aborted:
		t.speaker.note("(stopped)")
	case settled.Outcome != client.Completed:
		fmt.Fprintln(t.speaker.out, t.speaker.style.Bad(outcome(settled).Error()))
	}
	return true
}

// inPipe takes each line for a message, and ends with the first that is not answered.
func (t *talk) inPipe(in io.Reader, asJSON bool) error {
	from := bufio.NewReader(in)
	for {
		line, err := from.ReadString('\n')
		if text := strings.TrimRight(line, "\r\n"); strings.TrimSpace(text) != "" {
			if err := t.exchange(text, asJSON); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case t.Context().Err() != nil:
			return errInterrupted
		}
	}
}

// exchange says one thing and passes the answer on. Whoever interrupts it stops the agent too.
func (t *talk) exchange(text string, asJSON bool) error {
	ctx, cancel := lingering(t.Context())
	defer cancel()
	sent, err := t.send(ctx, text)
	if err != nil {
		return err
	}
	s := newSpeaker(t.OutOrStdout(), t.ErrOrStderr(), sent.SubmissionID)
	t.say = func(text string) { s.note("(%s)", text) }
	updates := t.api.Agents.Follow(t.Context(), sent)
	if asJSON {
		updates = printed(t.OutOrStdout(), updates)
		s.out, s.aside, s.one = io.Discard, io.Discard, false
	}
	settled, err := s.until(updates, sent.SubmissionID)
	s.endLine()
	if isInterrupted(err) {
		return errors.Join(err, t.stop(sent))
	}
	if err != nil {
		return err
	}
	return outcome(settled)
}

// printed passes updates on, and prints each on a line.
func printed(w io.Writer, updates func(func(client.Update, error) bool)) func(func(client.Update, error) bool) {
	return func(yield func(client.Update, error) bool) {
		for u, err := range updates {
			if err == nil {
				err = command.PrintLine(w, step{Checkpoint: u.Checkpoint, Update: &u})
			}
			if !yield(u, err) {
				return
			}
		}
	}
}
