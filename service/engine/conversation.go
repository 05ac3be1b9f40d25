package engine

import (
	"errors"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/scope"
)

// Conversation is a conversation as listed.
type Conversation struct {
	Agent    string `json:"agent"`
	ID       string `json:"id"`
	Instance string `json:"instance"` // as its address names it; the id
	Title    string `json:"title"`    // the first line that was said
	// State is waiting while nobody is at work on what it was given, and failed when the last of it did.
	State     string   `json:"state" enum:"idle running waiting failed"`
	StartedBy string   `json:"startedBy,omitempty"` // the actor of the claims that it was started with
	CreatedAt iso.Time `json:"createdAt"`
	UsedAt    iso.Time `json:"usedAt"`
}

// conversations are those of an agent, last used first.
func (e *Engine) conversations(w http.ResponseWriter, r *http.Request) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	found, err := e.Runtime.In(claims(r).Scope).Conversations(r.Context(), q.Get("agent"), parseCursor(q.Get("cursor")), n)
	if err != nil {
		return err
	}
	items := []Conversation{}
	for _, c := range found.Conversations {
		items = append(items, Conversation{
			Agent: c.Agent, ID: c.ID, Instance: c.ID, Title: c.Title, State: c.State, StartedBy: scope.ParseBy(c.StartedBy).Actor,
			CreatedAt: iso.Time(c.CreatedAt), UsedAt: iso.Time(c.UsedAt),
		})
	}
	answer := page{Items: items}
	if found.More {
		answer.Next = cursor(found.Conversations[len(found.Conversations)-1])
	}
	return list(w, r, answer)
}

// ConversationErased is what is said of one.
type ConversationErased struct {
	Agent    string `json:"agent"`
	Instance string `json:"instance"`
	Status   string `json:"status" enum:"erased"`
}

// conversation tells that there is a conversation, or erases it. One whose agent is no more is there all the same.
func (e *Engine) conversation(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	in, agent, id := e.Runtime.In(claims(r).Scope), q.Get("agent"), q.Get("id")
	var err error
	switch {
	case isThere(r):
		_, err = e.Runtime.Tail(r.Context(), in.AgentStream(agent, id))
	case r.Method == http.MethodDelete:
		err = in.EraseConversation(r.Context(), agent, id)
	default:
		return noRoute(r)
	}
	switch {
	case errors.Is(err, svc.ErrNoStream):
		return fault.New(fault.ItemNotFound, "There is no such conversation.", "")
	case err != nil:
		return err
	case isThere(r):
		return write(w, http.StatusOK, struct{}{})
	}
	return write(w, http.StatusAccepted, ConversationErased{agent, id, "erased"})
}

func cursor(c svc.Conversation) string { return listing.Cursor(c.Agent, c.ID, c.UsedAt.UnixMilli()) }

// parseCursor starts at the top for what no list gave.
func parseCursor(text string) *svc.Conversation {
	var c svc.Conversation
	var used int64
	if text == "" || (listing.Query{Cursor: text}).After(&c.Agent, &c.ID, &used) != nil {
		return nil
	}
	c.UsedAt = time.UnixMilli(used)
	return &c
}
