package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// history answers with the conversation as it is now. One that is no more than a page is one body; a longer one is written
// page by page, so that a reader holds one page of it at most.
func (in *instance) history(w http.ResponseWriter, r *http.Request, q url.Values) error {
	if q.Has("offset") || q.Has("tail") || q.Has(live) {
		return fault.Invalid("history takes no offset, tail or live.")
	}
	room, err := in.pageRoom(r)
	if err != nil {
		return err
	}
	defer room.Release()
	h, err := in.scoped().History(r.Context(), in.stream.Name, in.stream.ID)
	if err != nil {
		return err
	}
	h.Within(room)
	s := &snapshot{api: in.api, w: w, r: r, out: http.NewResponseController(w), history: h, room: room}
	if err := s.begin(); err != nil {
		return err
	}
	if err = s.write(); err != nil && s.sent {
		in.breakOff(w, r, err)
	}
	return err
}

// snapshot is a history on its way to a reader.
type snapshot struct {
	api     *api
	w       http.ResponseWriter
	r       *http.Request
	out     *http.ResponseController
	history *svc.History
	room    *memory.Grant

	body       []byte // written next
	sent       bool   // the head, and a part of the body
	items      bool   // the list that is written has an item
	unfinished json.RawMessage
}

// begin prints what stands before the first message.
func (s *snapshot) begin() error {
	empty, unfinished, err := s.history.Begin()
	if err != nil {
		return err
	}
	s.unfinished = unfinished
	s.body, err = empty.Encode()
	s.body = s.body[:len(s.body)-len(`],"settlements":[]}`)]
	return err
}

// write prints the messages, the one in progress last, and the settlements.
func (s *snapshot) write() error {
	if err := s.rows(conversation.RowMessage); err != nil {
		return err
	}
	if s.unfinished != nil {
		s.item(s.unfinished)
	}
	s.body, s.items = append(s.body, `],"settlements":[`...), false
	if err := s.rows(conversation.RowSettlement); err != nil {
		return err
	}
	s.body = append(s.body, "]}"...)
	if s.sent {
		return s.send()
	}
	s.head()
	writeWhole(s.w, s.body)
	return nil
}

func (s *snapshot) rows(kind string) error {
	for rows, err := range s.history.Rows(s.r.Context(), kind, stream.PageBytes) {
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := s.fit(row.Data); err != nil {
				return err
			}
			s.item(row.Data)
		}
		// A row may be longer than a page.
		s.room.Resize(max(svc.PageRoom, int64(2*cap(s.body))))
		if err := s.fit(nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) item(raw []byte) {
	if s.items {
		s.body = append(s.body, ',')
	}
	s.body, s.items = append(s.body, raw...), true
}

// fit sends what is printed so far where the next item would make it more than a page: the body is allocated once.
func (s *snapshot) fit(next []byte) error {
	if len(s.body)+len(next) < stream.PageBytes {
		return nil
	}
	return s.send()
}

// send writes what is printed so far, and waits until the reader has taken it.
func (s *snapshot) send() error {
	if !s.sent {
		s.head()
		s.w.WriteHeader(http.StatusOK)
		s.sent = true
	}
	_ = s.out.SetWriteDeadline(time.Now().Add(s.api.WriteTimeout)) // where none can be set the server's own has to do
	if _, err := s.w.Write(s.body); err != nil {
		return err
	}
	s.body = s.body[:0]
	if cap(s.body) > 2*stream.PageBytes {
		s.body = nil
	}
	return nil
}

func (s *snapshot) head() {
	setPage(s.w.Header(), stream.Frame{Next: s.history.Offset(), Tail: true})
}
