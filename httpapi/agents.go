package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/stream"
)

// instance is one conversation with an agent, whether or not it has begun.
type instance struct {
	reader
	agent *svc.Agent
}

// agentManner is how an agent's updates are read.
var agentManner = manner{missing: streamNotFound, strict: true}

func streamNotFound(s svc.Stream) error {
	return fault.New(fault.StreamNotFound, fmt.Sprintf("No stream %q.", "agents/"+s.Name+"/"+s.ID), "It is created by the first message.")
}

// atInstance asks the agent's guard, and lets it serve one of the allowed methods.
func atInstance(serve func(*instance, http.ResponseWriter, *http.Request) error, allowed ...string) endpoint {
	return func(a *api, x *response, r *http.Request, params []string) error {
		if !slices.Contains(allowed, r.Method) {
			return wrongMethod(x, r, allowed...)
		}
		in, err := a.findInstance(r, params)
		if err != nil {
			return err
		}
		return a.guardAgent(x, r, in.agent, "route", in.agent.Route, func(w http.ResponseWriter, r *http.Request) error {
			return in.named(serve(in, w, r))
		})
	}
}

// findInstance tells nobody that an agent without a route exists.
func (a *api) findInstance(r *http.Request, params []string) (*instance, error) {
	name, err := parameter(params[0])
	if err != nil {
		return nil, err
	}
	id, err := instanceID(params[1])
	if err != nil {
		return nil, err
	}
	in, err := a.lookUp(r, name, id)
	if err != nil {
		return nil, err
	}
	if in.agent == nil || in.agent.Route == nil {
		return nil, fault.New(fault.AgentNotFound, fmt.Sprintf("No agent named %q.", name), "Check the name.")
	}
	return in, nil
}

// instanceID decodes the segment of an id. Any text will do that every database can hold.
func instanceID(segment string) (string, error) {
	id, err := parameter(segment)
	if err == nil && strings.ContainsRune(id, 0) {
		err = fault.Invalid("An id holds no NUL.")
	}
	return id, err
}

// lookUp addresses an instance in the request's scope; its agent is nil if there is none of that name.
func (a *api) lookUp(r *http.Request, name, id string) (*instance, error) {
	scope, err := a.Scope(r)
	if err != nil {
		return nil, err
	}
	in := a.rt.In(scope)
	agent, err := in.Agent(r.Context(), name)
	return &instance{reader{a, in.AgentStream(name, id), agentManner}, agent}, err
}

func (in *instance) scoped() svc.Scoped { return in.rt.In(in.stream.Scope) }

// serve prompts an instance, or reads it.
func (in *instance) serve(w http.ResponseWriter, r *http.Request) error {
	switch r.Method {
	case http.MethodPost:
		return in.prompt(w, r)
	case http.MethodHead:
		return in.head(w, r)
	}
	return in.view(w, r)
}

// prompt admits a message. Once it is admitted it is answered, whether or not the client stays to hear of it.
func (in *instance) prompt(w http.ResponseWriter, r *http.Request) error {
	if parseQuery(r.URL.RawQuery).Has("wait") {
		return fault.Invalid("Agent prompts cannot be waited for.")
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	sent, err := in.readBody(w, r, in.stream.Scope, in.MaxBody)
	if err != nil {
		return err
	}
	defer sent.release()
	message, err := in.parse(r.Context(), sent)
	if err != nil {
		return err
	}
	prompted, err := in.scoped().Prompt(r.Context(), in.stream.Name, in.stream.ID, svc.Prompt{
		Message: message, Key: key, Body: sent.raw, By: in.StartedBy(r),
	})
	if err != nil {
		return err
	}
	return in.accepted(w, r, prompted)
}

// What a message takes beside its body: the copy that is kept of it (conversation holds that to once), and its text once
// more on its way into the store.
const (
	parseTimes  = 1
	admitsTimes = 3
)

// parse reads the message when there is memory for it, and for what admits it.
func (in *instance) parse(ctx context.Context, sent *body) (conversation.Message, error) {
	if err := sent.room.Grow(parseTimes * int64(len(sent.value))); err != nil {
		return conversation.Message{}, noRoom(err, in.MaxBody)
	}
	var message conversation.Message
	err := in.inTurn(ctx, len(sent.value), func() (err error) {
		message, err = conversation.ParseMessage(ctx, sent.value)
		return err
	})
	if err != nil {
		return message, err
	}
	if err := sent.room.Grow(admitsTimes * int64(len(message.Body))); err != nil {
		return message, noRoom(err, in.MaxBody)
	}
	return message, nil
}

// accepted says where the reply can be read. A replayed prompt is answered with the same bytes: what the store keeps of the
// first answer is the submission and the offset, and the address follows from the path, which is part of the key.
func (in *instance) accepted(w http.ResponseWriter, r *http.Request, p svc.Prompted) error {
	address := in.publicURL(r)
	body, err := stream.Encode(struct {
		StreamURL    string `json:"streamUrl"`
		Offset       string `json:"offset"`
		SubmissionID string `json:"submissionId"`
	}{address, p.Offset.String(), p.SubmissionID})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Location", address)
	h.Set(stream.HeaderNextOffset, p.Offset.String())
	if p.Replayed {
		h.Set(headerReplayed, "true")
	}
	writeJSON(w, r, http.StatusAccepted, body)
	return nil
}

// view answers with the conversation as it is now, or with what happened to it since.
func (in *instance) view(w http.ResponseWriter, r *http.Request) error {
	q := parseQuery(r.URL.RawQuery)
	switch view := q.Get("view"); {
	case view == "updates":
		return in.updates(w, r, q)
	case view == "history" || !q.Has("view"):
		return in.history(w, r, q)
	}
	return fault.Invalid("view must be history or updates.")
}

func (in *instance) updates(w http.ResponseWriter, r *http.Request, q url.Values) error {
	asked, err := parseUpdatesQuery(q)
	if err != nil {
		return err
	}
	if err := in.admits(); err != nil {
		return err
	}
	return in.read(w, r, asked)
}

// abort stops unsettled work of an instance.
func (in *instance) abort(w http.ResponseWriter, r *http.Request) error {
	named := parseQuery(r.URL.RawQuery)["submission"]
	if len(named) > 1 || len(named) == 1 && strings.TrimSpace(named[0]) == "" {
		return fault.Invalid("submission must be one id.")
	}
	aborted, err := in.scoped().Abort(r.Context(), in.stream.Name, in.stream.ID, strings.Join(named, ""))
	if err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, fmt.Appendf(nil, `{"aborted":%t}`, aborted))
	return nil
}

// listedSubmission is unsettled work. Fields stand in the order of the wire.
type listedSubmission struct {
	SubmissionID string             `json:"submissionId"`
	Kind         svc.SubmissionKind `json:"kind"`
	Preview      string             `json:"preview"`
	AdmittedAt   string             `json:"admittedAt"`
	State        string             `json:"state"`
	Reason       string             `json:"reason,omitempty"`
}

// submissions lists unsettled work of an instance.
func (in *instance) submissions(w http.ResponseWriter, r *http.Request) error {
	found, err := in.scoped().Submissions(r.Context(), in.stream.Name, in.stream.ID)
	if err != nil {
		return err
	}
	list := make([]listedSubmission, len(found))
	for i, s := range found {
		list[i] = listedSubmission{s.ID, s.Kind, s.Preview, iso.Format(s.AdmittedAt), s.State, s.Reason}
	}
	body, err := stream.Encode(map[string]any{"submissions": list})
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	setSecure(w.Header())
	writeJSON(w, r, http.StatusOK, body)
	return nil
}
