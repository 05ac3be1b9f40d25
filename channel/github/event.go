package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"svc.dev/svc/channel/internal/hook"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
)

// Event is something that happened on GitHub.
type Event struct {
	Name         string // such as issue_comment
	Action       string // such as created; some events have none
	Delivery     string // the id that a repeated delivery shares
	Sender       string // the login of the one who did it
	Bot          bool   // and that they are no person
	Repository   string // owner/name; empty: of no repository
	Organization string
	Installation int64 // of the app; 0: a webhook set by hand
	Number       int64 // of the issue, pull request or discussion; 0: of none
	Title        string
	URL          string          // the page where it happened
	Path         string          // the file that a review comments on
	Line         int64           // and its line; 0: the whole file
	Head, Base   string          // the branches of a pull request
	Text         *string         // what a person wrote; nil: nobody wrote anything that we know of
	Payload      json.RawMessage // all that GitHub tells
}

// payload is what is read of an event.
type payload struct {
	Action     string `json:"action"`
	Number     int64  `json:"number"`
	Sender     struct{ Login, Type string }
	Repository struct {
		FullName string `json:"full_name"`
	}
	Organization struct{ Login string }
	Installation struct{ ID int64 }
	Issue        *subject `json:"issue"`
	PullRequest  *subject `json:"pull_request"`
	Discussion   *subject `json:"discussion"`
	Comment      *comment `json:"comment"`
}

// subject is what a conversation is about.
type subject struct {
	Number     int64
	Title      string
	Body       string
	URL        string `json:"html_url"`
	Head, Base struct{ Ref string }
}

type comment struct {
	Body string
	URL  string `json:"html_url"`
	Path string
	Line int64
}

// Parse reads the payload of an event. Fields of another type than we know are as if they were absent: of events that we
// have never seen, something is better than nothing.
func Parse(name, delivery string, body []byte) (Event, error) {
	var p payload
	err := json.Unmarshal(body, &p)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !other {
		return Event{}, hook.NotJSON(err)
	}
	if body = bytes.TrimSpace(body); body[0] != '{' {
		return Event{}, fault.Invalid("The payload is not an object.")
	}
	e := Event{
		Name: name, Action: p.Action, Delivery: delivery, Sender: p.Sender.Login, Bot: p.Sender.Type == "Bot",
		Repository: p.Repository.FullName, Organization: p.Organization.Login, Installation: p.Installation.ID,
		Number: p.Number, Payload: body,
	}
	for _, s := range []*subject{p.Issue, p.PullRequest, p.Discussion} {
		if s != nil {
			e.Number, e.Title, e.URL, e.Head, e.Base = s.Number, s.Title, s.URL, s.Head.Ref, s.Base.Ref
		}
	}
	if p.Comment != nil {
		e.URL, e.Path, e.Line = p.Comment.URL, p.Comment.Path, p.Comment.Line
	}
	e.Text = p.written(name)
	return e, nil
}

// written is the text of the events that are someone speaking.
func (p payload) written(name string) *string {
	switch event := name + "." + p.Action; {
	case event == "issues.opened" && p.Issue != nil:
		return &p.Issue.Body
	case event == "pull_request.opened" && p.PullRequest != nil:
		return &p.PullRequest.Body
	case (event == "issue_comment.created" || event == "pull_request_review_comment.created") && p.Comment != nil:
		return &p.Comment.Body
	}
	return nil
}

// Instance is owner/name#number, or as much of it as the event has: the repository, the organization, the installation, or
// the delivery.
func (e Event) Instance() string {
	switch {
	case e.Repository != "" && e.Number > 0:
		return e.Repository + "#" + strconv.FormatInt(e.Number, 10)
	case e.Repository != "":
		return e.Repository
	case e.Organization != "":
		return e.Organization
	case e.Installation > 0:
		return "installation/" + strconv.FormatInt(e.Installation, 10)
	}
	return e.Delivery
}

// Message is the event as an agent is told of it: with what was written, or else with the payload, cut where it is too long.
func (e Event) Message() conversation.Message {
	m := conversation.Message{Kind: conversation.KindSignal, Type: "github." + e.Name, TagName: "github"}
	if e.Action != "" {
		m.Type += "." + e.Action
	}
	m.Attributes = hook.Attributes(
		"sender", e.Sender, "repository", e.Repository, "organization", e.Organization, "number", number(e.Number), "title", e.Title,
		"url", e.URL, "path", e.Path, "line", number(e.Line), "head", e.Head, "base", e.Base, "installation", number(e.Installation),
	)
	if e.Text != nil {
		m.Body = *e.Text
		return m
	}
	var cut bool
	if m.Body, cut = hook.Compact(e.Payload); cut {
		m.Attributes = append(m.Attributes, conversation.Attribute{Name: "truncated", Value: "true"})
	}
	return m
}

func number(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
