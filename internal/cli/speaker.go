package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/screen"
)

// speaker shows what happens in a conversation as it happens: what an agent says as it is said, what it does with tools a line each.
type speaker struct {
	out   io.Writer // what is said
	aside io.Writer // what is done meanwhile
	style screen.Style
	// one says that both are seen in one place, where what is done stands between what is said.
	one bool
	// clean says that a person looks: what a terminal would obey is taken out, and what the agent thinks is shown.
	clean bool
	// only is the submission that is shown; empty: all of them.
	only string
	// mine is the submission whose text stands there already, for it was typed there.
	mine string

	open    bool            // a line of what is said has begun
	ours    map[string]bool // messages and calls that are shown
	thought bool            // what is open is a thought
}

// newSpeaker says on one writer and tells what is done on another.
func newSpeaker(out, aside io.Writer, only string) *speaker {
	terminal := screen.IsTerminal(out)
	return &speaker{
		out: out, aside: aside, style: screen.StyleOf(aside), one: out == aside || terminal && screen.IsTerminal(aside), clean: terminal,
		only: only, ours: map[string]bool{},
	}
}

// show shows one update.
func (s *speaker) show(u client.Update) {
	switch u.Type {
	case client.UpdateStarted:
		s.claim(u.SubmissionID, u.MessageID)
	case client.UpdateDelta:
		if s.ours[u.MessageID] {
			s.delta(u.Kind, u.Delta)
		}
	case client.UpdateToolInput:
		if s.ours[u.MessageID] {
			s.ours[u.ToolCallID] = true
			s.calls(u.ToolName, u.Input)
		}
	case client.UpdateToolOutput, client.UpdateToolError:
		if s.ours[u.ToolCallID] {
			s.returned(u.Output, u.ErrorText, u.Type == client.UpdateToolError, u.DurationMs)
		}
	case client.UpdateCompleted:
		s.endLine()
	case client.UpdateAppended:
		s.appended(u.Message)
	}
}

func (s *speaker) claim(submission, message string) {
	if s.only == "" || s.only == submission {
		s.ours[message] = true
	}
}

// appended shows what somebody else said, where others are shown.
func (s *speaker) appended(m *client.Message) {
	if m == nil || s.only != "" || m.Display != "visible" || m.Role != "user" || s.mine != "" && m.SubmissionID == s.mine {
		return
	}
	s.endLine()
	s.note("%s %s", "›", screen.Clean(m.Text()))
}

// delta says the next piece.
func (s *speaker) delta(kind, text string) {
	thought := kind == client.PartReasoning
	if thought && !s.clean {
		return // a thought is not part of the answer
	}
	if s.open && s.thought != thought {
		s.endLine()
	}
	if text == "" {
		return
	}
	if s.clean {
		text = screen.Clean(text)
	}
	s.thought, s.open = thought, !strings.HasSuffix(text, "\n")
	if thought {
		text = s.style.Dim(text)
	}
	_, _ = io.WriteString(s.out, text) // a reader that has gone ends the process
}

// endLine ends what was begun to be said.
func (s *speaker) endLine() {
	if s.open {
		_, _ = io.WriteString(s.out, "\n")
		s.open = false
	}
}

// note writes a line beside what is said.
func (s *speaker) note(format string, args ...any) {
	if s.one {
		s.endLine()
	}
	fmt.Fprintln(s.aside, s.style.Dim(fmt.Sprintf(format, args...)))
}

// widest is how much is shown of what a tool is given and gives.
const widest = 100

func (s *speaker) calls(name string, input json.RawMessage) {
	s.note("• %s %s", screen.Cut(name, 64), screen.Cut(compact(input), widest))
}

func (s *speaker) returned(output json.RawMessage, problem string, failed bool, ms *int64) {
	took := ""
	if ms != nil && *ms > 0 {
		took = " (" + shownDuration(*ms) + ")"
	}
	if failed {
		s.note("  ! %s%s", screen.Cut(problem, widest), took)
		return
	}
	s.note("  = %s%s", screen.Cut(compact(output), widest), took)
}

// compact is JSON without the spaces that only people need; a text alone is without its quotes.
func compact(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// message shows a message that is there already, up to where it is.
func (s *speaker) message(m *client.Message, name string) {
	if m.Display == "hidden" {
		return
	}
	s.endLine()
	who := map[string]string{"user": "you", "assistant": name}[m.Role]
	if who == "" {
		who = screen.Line(m.Role)
	}
	fmt.Fprintf(s.out, "%s  %s\n", s.style.Bold(who), s.style.Dim(shownTime(m.Metadata.Timestamp.Time)))
	s.ours[m.ID] = true
	for _, p := range m.Parts {
		s.part(p)
	}
}

func (s *speaker) part(p *client.Part) {
	switch p.Type {
	case client.PartText:
		s.delta(client.PartText, p.Text)
		if p.State != client.StateStreaming {
			s.endLine()
		}
	case client.PartFile:
		s.endLine()
		fmt.Fprintf(s.out, "[%s, %s, %s]\n", screen.Line(p.MediaType), screen.Bytes(p.Size), screen.Line(p.Filename+" "+p.ID))
	case client.PartTool:
		s.endLine()
		s.ours[p.ToolCallID] = true
		s.calls(p.ToolName, p.Input)
		if p.State != client.StateInput {
			s.returned(p.Output, p.ErrorText, p.State == client.StateError, p.DurationMs)
		}
	}
}
