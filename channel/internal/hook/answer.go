package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
)

// NotJSON is a body that is no JSON.
func NotJSON(err error) *fault.Error {
	return fault.New(fault.InvalidJSON, "The body is not valid JSON.", err.Error()).Because(err)
}

func tooLarge(limit int64) error {
	return fault.New(fault.BodyTooLarge, "The body is too large.", fmt.Sprintf("At most %d bytes.", limit)).With("limit", limit)
}

// refuse writes a fault in the envelope of the API; a type that has no status is a 500 under its own name. What nobody foresaw is logged, and its text stays here.
func (h *hook) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.From(err)
	status, known := fault.Status(f.Type)
	if !known {
		status = http.StatusInternalServerError
		if r.Context().Err() == nil {
			h.Log.ErrorContext(r.Context(), "webhook failed", "channel", h.Name, "error", err)
		}
	}
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close")
	}
	told := *f
	told.Dev = ""
	answer(w, status, map[string]fault.Error{"error": told})
}

// accepted answers 202 for a message that is admitted now, and 200 with the first receipt for one that was before.
func accepted(w http.ResponseWriter, p svc.Prompted) {
	status := http.StatusAccepted
	if p.Replayed {
		status = http.StatusOK
		w.Header().Set("Idempotency-Replayed", "true")
	}
	answer(w, status, receipt{p.SubmissionID, iso.Format(p.AdmittedAt)})
}

type receipt struct {
	DispatchID string `json:"dispatchId"`
	AcceptedAt string `json:"acceptedAt"`
}

func answer(w http.ResponseWriter, status int, body any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		status, b = http.StatusInternalServerError, bytes.Buffer{}
		b.WriteString(`{"error":{"type":"internal_error","message":"Internal error.","details":""}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n"))) // who has gone needs no answer
}
