package engine

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
	q, err := pageOf(r)
	if err != nil {
		return err
	}
	s := search{in: e.Runtime.In(claims(r).Scope), scope: claims(r).Scope, agent: r.URL.Query().Get("agent"), text: strings.ToLower(q.Q), size: q.Size()}
	if err := s.begin(q); err != nil {
		return err
	}
	if err := s.run(r.Context()); err != nil {
		return err
	}
	items := []Conversation{}
	for _, c := range s.found {
		items = append(items, Conversation{
			Agent: c.Agent, ID: c.ID, Instance: c.ID, Title: c.Title, State: c.State, StartedBy: scope.ParseBy(c.StartedBy).Actor,
			CreatedAt: iso.Time(c.CreatedAt), UsedAt: iso.Time(c.UsedAt),
		})
	}
	return list(w, r, page{Items: items, Next: s.next()})
}

// Bounds of a search: so many conversations are read at a time, and looked at for a page. What a title is only the runtime knows, so no
// database can look for one.
const (
	searchStep = 500
	searchMost = 2000
)

// conversationList is the list that cursors of conversations are of.
const conversationList = "conversations"

// search is how the conversations of an agent are found whose instance or title has a text in it.
type search struct {
	in           svc.Scoped
	scope, agent string
	text         string // in lower case; empty: all
	size         int

	found []svc.Conversation
	last  *svc.Conversation // that was looked at; nil: none was
	more  bool
}

// begin goes on where a page has ended. A cursor of another list is refused, as is one of another agent or workspace.
func (s *search) begin(q listing.Query) error {
	q, err := q.Of(conversationList)
	if err != nil || q.Cursor == "" {
		return err
	}
	var within string
	var last svc.Conversation
	var used int64
	if err := q.After(&within, &last.Agent, &last.ID, &used); err != nil {
		return err
	}
	if within != s.scope || last.Agent != s.agent {
		return listing.NotGiven()
	}
	last.UsedAt = time.UnixMilli(used)
	s.last = &last
	return nil
}

// run fills a page. It may come to its bound before: then the page has fewer than it could, and there is a next.
func (s *search) run(ctx context.Context) error {
	step := s.size
	if s.text != "" {
		step = searchStep
	}
	for looked := 0; ; looked += step {
		read, err := s.in.Conversations(ctx, s.agent, s.last, step)
		if err != nil {
			return err
		}
		s.more = read.More
		for i := range read.Conversations {
			if full := !s.take(&read.Conversations[i]); full {
				s.more = true
				return nil
			}
		}
		if !s.more || s.text == "" || looked+step >= searchMost {
			return nil
		}
	}
}

// take looks at a conversation, and reports whether there was room for it.
func (s *search) take(c *svc.Conversation) bool {
	if strings.Contains(strings.ToLower(c.ID), s.text) || strings.Contains(strings.ToLower(c.Title), s.text) {
		if len(s.found) == s.size {
			return false
		}
		s.found = append(s.found, *c)
	}
	s.last = c
	return true
}

// next is the cursor of the page after; empty: there is none.
func (s *search) next() string {
	if !s.more {
		return ""
	}
	return listing.Label(conversationList, listing.Cursor(s.scope, s.agent, s.last.ID, s.last.UsedAt.UnixMilli()))
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
