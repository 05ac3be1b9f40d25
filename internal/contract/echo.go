package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
)

func ping(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pong") }

// inbox takes what a provider would send, and dispatches it to the assistant.
type inbox struct{ rt *svc.Runtime }

const maxDelivery = 1 << 20

func (i inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ ID, Text string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDelivery)).Decode(&in); err != nil {
		http.Error(w, "the body is not {id, text}", http.StatusBadRequest)
		return
	}
	message := conversation.Message{Kind: conversation.KindUser, Body: in.Text}
	dispatched, err := i.rt.Dispatch(r.Context(), "assistant", in.ID, svc.Prompt{Message: message})
	if err != nil {
		http.Error(w, "not taken", statusOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintf(w, `{"dispatchId":%q}`, dispatched.SubmissionID)
}

func statusOf(err error) int {
	switch {
	case fault.Is(err, fault.InvalidRequest):
		return http.StatusBadRequest
	case fault.Is(err, fault.Unavailable):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
