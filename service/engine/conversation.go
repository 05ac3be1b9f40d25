package engine

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"svc.dev/svc"
)

// conversations are those of an agent, last used first.
func (e *Engine) conversations(w http.ResponseWriter, r *http.Request) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	list, err := e.Runtime.In(claims(r).Scope).Conversations(r.Context(), q.Get("agent"), parseCursor(q.Get("cursor")), n)
	if err != nil {
		return err
	}
	type conversation struct {
		Agent  string    `json:"agent"`
		ID     string    `json:"id"`
		UsedAt time.Time `json:"usedAt"`
	}
	items := []conversation{}
	for _, c := range list.Conversations {
		items = append(items, conversation{c.Agent, c.ID, c.UsedAt.UTC()})
	}
	answer := page{Items: items}
	if list.More {
		answer.Next = cursor(list.Conversations[len(list.Conversations)-1])
	}
	write(w, http.StatusOK, answer)
	return nil
}

// place is where a list of conversations goes on.
type place struct {
	Agent  string `json:"a"`
	ID     string `json:"i"`
	UsedAt int64  `json:"u"`
}

func cursor(c svc.Conversation) string {
	text, _ := json.Marshal(place{c.Agent, c.ID, c.UsedAt.UnixMilli()}) // strings and a number always have JSON
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor starts at the top for what no list gave.
func parseCursor(text string) *svc.Conversation {
	data, err := base64.RawURLEncoding.DecodeString(text)
	var p place
	if text == "" || err != nil || json.Unmarshal(data, &p) != nil || !isText(p.Agent) || !isText(p.ID) {
		return nil
	}
	return &svc.Conversation{Agent: p.Agent, ID: p.ID, UsedAt: time.UnixMilli(p.UsedAt)}
}
