package slack

import (
	"cmp"
	"encoding/json"
	"slices"

	"svc.dev/svc/channel/internal/hook"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
)

// Event is something that a person wrote.
type Event struct {
	ID          string // that a repeated delivery shares
	Type        string // message or app_mention
	Team        string
	Channel     string
	ChannelType string // channel, group, im or mpim; empty for an app_mention
	User        string
	Text        string // as Slack writes it: <@U012AB3CD> is a mention, & < > are &amp; &lt; &gt;
	TS          string // the message's name in its channel
	Thread      string // the ts of the message that began its thread; empty: of none
}

// callback is what is read of a request.
type callback struct {
	Type       string
	Challenge  string
	EventID    string `json:"event_id"`
	TeamID     string `json:"team_id"`
	Enterprise string `json:"enterprise_id"` // of an app that a whole organization installed
	Event      struct {
		Type        string
		Subtype     string
		BotID       string `json:"bot_id"`
		User        string
		Text        string
		TS          string
		Thread      string          `json:"thread_ts"`
		Channel     json.RawMessage // a name, and in events that are no messages an object
		ChannelType string          `json:"channel_type"`
	}
}

func parse(body []byte) (callback, error) {
	var c callback
	if !json.Valid(body) {
		var v any
		return c, hook.NotJSON(json.Unmarshal(body, &v))
	}
	// Of events that are no messages fields may have other types: they are ignored, not refused.
	_ = json.Unmarshal(body, &c)
	if c.Type == "" {
		return c, fault.Invalid("The request has no type.")
	}
	return c, nil
}

// spoken reports whether someone wrote something: edits, deletions and what Slack itself has to say are messages too.
func (c callback) spoken() bool {
	written := slices.Contains([]string{"", "file_share", "me_message", "thread_broadcast"}, c.Event.Subtype)
	return c.Event.Type == "app_mention" || c.Event.Type == "message" && written
}

func (c callback) event() (Event, error) {
	e := Event{
		ID: c.EventID, Type: c.Event.Type, Team: cmp.Or(c.TeamID, c.Enterprise), ChannelType: c.Event.ChannelType,
		User: c.Event.User, Text: c.Event.Text, TS: c.Event.TS, Thread: c.Event.Thread,
	}
	_ = json.Unmarshal(c.Event.Channel, &e.Channel)
	if e.ID == "" || len(e.ID) > 256 || e.Team == "" || e.Channel == "" || e.TS == "" {
		return e, fault.Invalid("The event lacks its event_id, team_id, channel or ts.")
	}
	return e, nil
}

// Instance is team/channel/thread. What stands in no thread begins one, but for direct messages: they are one conversation.
func (e Event) Instance() string {
	switch {
	case e.Thread != "":
		return e.Team + "/" + e.Channel + "/" + e.Thread
	case e.ChannelType == "im":
		return e.Team + "/" + e.Channel
	}
	return e.Team + "/" + e.Channel + "/" + e.TS
}

// Message is the event as an agent is told of it.
func (e Event) Message() conversation.Message {
	return conversation.Message{
		Kind: conversation.KindSignal, Type: "slack." + e.Type, TagName: "slack", Body: e.Text,
		Attributes: hook.Attributes("team", e.Team, "channel", e.Channel, "channel_type", e.ChannelType, "user", e.User,
			"ts", e.TS, "thread_ts", e.Thread),
	}
}
