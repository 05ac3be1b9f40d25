package gateway

import (
	"mime"
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

	errand  errand
	ended   func() bool // we have ended the stream
	refused bool        // we have answered instead of the runtime
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
	if f.errand.hook && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		f.refuse(fault.From(noChannel()))
		return
	}
	if !f.leadOn() {
		f.refuse(fault.New(fault.BadGateway, "The answer leads to an address that is none.", ""))
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
	f.shut(out)
	f.Answer.WriteHeader(status)
}

func (f *filter) passes(name string) bool {
	if f.errand.hook {
		return name != "Set-Cookie" && !ours(name) && (!banned(name) || name == "X-Accel-Buffering")
	}
	if name == surface.ResourcePolicy {
		return f.x.IsBase() // what the runtime shares is shared there alone
	}
	return slices.Contains(returned, name) || strings.HasPrefix(name, "Stream-") || f.errand.authored && slices.Contains(authored, name)
}

// own are the headers of an answer that speak for the whole host, which is ours: what browsers remember of it, who may read.
var own = []string{"X-Request-Id", "Strict-Transport-Security", "Referrer-Policy", "X-Frame-Options", "Cross-Origin-Opener-Policy"}

// ours reports whether a header of an answer is the gateway's own to set.
func ours(name string) bool {
	return slices.Contains(own, name) || strings.HasPrefix(name, "Access-Control-")
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

// end is how an answer ends that we have ended. What a project has begun to say breaks off, unless it is events: those who follow them
// ask again.
func (f *filter) end() {
	f.refuseEnded()
	if kind, _, _ := mime.ParseMediaType(f.head.Get("Content-Type")); f.errand.authored && !f.refused && kind != "text/event-stream" {
		panic(http.ErrAbortHandler)
	}
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
