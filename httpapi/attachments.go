package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/fault"
)

// attachment serves the bytes of one attachment.
func (a *api) attachment(x *response, r *http.Request, params []string) error {
	in, err := a.findAttaching(r, params)
	switch {
	case err != nil:
		return err
	case r.Method != http.MethodGet:
		return wrongMethod(x, r, http.MethodGet)
	}
	in.stream.ID, err = instanceID(params[1])
	id, blank := parameter(params[2])
	if err := errors.Join(err, blank); err != nil {
		return err
	}
	return a.guardAgent(x, r, in.agent, "attachments", in.agent.Attachments, func(w http.ResponseWriter, r *http.Request) error {
		return in.named(in.download(w, r, id))
	})
}

// findAttaching finds the agent that a path names, and none that does not show its attachments: there is no route then,
// whatever the method.
func (a *api) findAttaching(r *http.Request, params []string) (*instance, error) {
	name, err := url.PathUnescape(params[0])
	if err != nil {
		return nil, noRoute(r)
	}
	in, err := a.lookUp(r, name, "")
	if err != nil {
		return nil, err
	}
	if in.agent == nil || in.agent.Attachments == nil {
		return nil, noRoute(r)
	}
	return in, nil
}

func (in *instance) download(w http.ResponseWriter, r *http.Request, id string) error {
	found, body, err := in.scoped().Attachment(r.Context(), in.stream.Name, in.stream.ID, id)
	if errors.Is(err, svc.ErrNotFound) {
		return fault.New(fault.AttachmentNotFound, fmt.Sprintf("No attachment %q.", id), "Unknown id or other conversation.")
	}
	if err != nil {
		return err
	}
	defer body.Close()
	h := w.Header()
	h.Set("Content-Type", headerValue(found.MimeType))
	h.Set("Content-Length", strconv.FormatInt(found.Blob.Size, 10))
	h.Set("Content-Disposition", disposition(found.MimeType))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", "sandbox")
	setSecure(h)
	w.WriteHeader(http.StatusOK)
	if _, err := io.Copy(w, body); err != nil {
		in.breakOff(w, r, err)
	}
	return nil
}

// headerValue is a type as its uploader wrote it. One that cannot stand in a header says nothing of the bytes either.
func headerValue(mimeType string) string {
	if strings.ContainsFunc(mimeType, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "application/octet-stream"
	}
	return mimeType
}

// shown are the types that a browser shows in their place; all others it saves, whatever they say that they are.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"}

func disposition(mimeType string) string {
	if kind, _, err := mime.ParseMediaType(mimeType); err == nil && slices.Contains(shown, kind) {
		return "inline"
	}
	return "attachment"
}
