package gateway

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/surface"
)

// filter lets the runtime's answer out, without headers that are ours to set.
type filter struct {
	*surface.Answer
	x    *exchange
	in   *intake
	head http.Header
	sent bool

	ended   func() bool // we have ended the stream
	refused bool        // we have answered instead of the runtime
	hook    bool        // a webhook's answer keeps all but what is never let out
}

// Header is what the runtime writes to; it reaches the client when the status does.
func (f *filter) Header() http.Header { return f.head }

// WriteHeader lets the head out. What only informs of one to come stays here.
func (f *filter) WriteHeader(status int) {
	if f.sent || status < 200 {
		return
	}
	if f.ended() {
		f.refuseEnded()
		return
	}
	if because := f.in.beyond(); because != nil {
		f.refuse(because)
		return
	}
	if because := f.x.stands(status); because != nil {
		f.refuse(fault.From(because))
		return
	}
	if f.hook && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		f.refuse(fault.From(noChannel()))
		return
	}
	f.sent = true
	out := f.Answer.Header()
	for name, values := range f.head {
		switch {
		case name == "Vary":
			out[name] = append(out[name], values...)
		case f.passes(name):
			out[name] = values
		}
	}
	f.Answer.WriteHeader(status)
}

func (f *filter) passes(name string) bool {
	if f.hook {
		return name != "Set-Cookie" && !ours(name) && (!banned(name) || name == "X-Accel-Buffering")
	}
	if name == surface.ResourcePolicy {
		return f.x.IsBase() // what the runtime shares is shared there alone
	}
	return slices.Contains(returned, name) || strings.HasPrefix(name, "Stream-")
}

// ours reports whether a header of an answer is the gateway's own to set.
func ours(name string) bool {
	return name == "X-Request-Id" || name == "Strict-Transport-Security" || name == "Referrer-Policy" || name == "X-Frame-Options" ||
		name == "Cross-Origin-Opener-Policy" || strings.HasPrefix(name, "Access-Control-")
}

func (f *filter) Write(b []byte) (int, error) {
	f.WriteHeader(http.StatusOK)
	if f.refused {
		return len(b), nil
	}
	return f.Answer.Write(b)
}

// FlushError lets a frame out at once.
func (f *filter) FlushError() error {
	f.WriteHeader(http.StatusOK)
	f.Answer.Allow()
	return http.NewResponseController(f.Answer).Flush()
}

// refuseEnded answers a client whose stream we ended before it began. It asks again, and is told why then.
func (f *filter) refuseEnded() { f.refuse(fault.NotAvailable("ended").After(time.Second)) }

// refuse answers instead of the runtime. A client that does not send what it announced is told that, rather than what came
// of it.
func (f *filter) refuse(because *fault.Error) {
	if f.sent {
		return
	}
	f.sent, f.refused = true, true
	if own := f.in.fault(); own != nil {
		because = own
	}
	f.x.fail(because)
}
