package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"svc.dev/svc/service/surface"
)

// ProbePath is where whoever keeps the machine asks what stands between a client and us.
const ProbePath = "/api/probe"

// DefaultProbePause is how long the second part of a probe waits behind the first: a proxy that holds answers back brings
// both at once.
const DefaultProbePause = time.Second

// Bounds of probes, which anybody may ask for: each address so often a minute, and so many at one time.
const (
	probesPerMinute = 30
	probesAtOnce    = 16
)

// NobodysAddress is one that no client can have (RFC 5737): where it is taken for the client's, a stranger's word was believed.
const NobodysAddress = "192.0.2.1"

// What became of X-Forwarded-For.
const (
	ForwardedNone    = "none"    // nobody said anything
	ForwardedIgnored = "ignored" // who said it is not among the trusted proxies
	ForwardedMissing = "missing" // a trusted proxy said nothing
	ForwardedCounted = "counted" // a trusted proxy said who asks
	ForwardedClaimed = "claimed" // a client's own claim was believed
)

// Probe is the first part of the answer: which of us was reached, and how. It names no address and no version.
type Probe struct {
	Service   string  `json:"service"` // always "svc"
	Surface   Surface `json:"surface"`
	Node      string  `json:"node"` // which process it was, by a name that says nothing else
	Forwarded string  `json:"forwarded"`
}

// probe answers in two parts, as a stream does, and ends.
func (x *exchange) probe() error {
	if err := x.g.probes.Take(x.Network()); err != nil {
		return err
	}
	release, err := x.g.probing.Take("")
	if err != nil {
		return err
	}
	defer release()
	first, err := json.Marshal(Probe{Service: "svc", Surface: x.Surface, Node: x.g.Node, Forwarded: x.forwarded()})
	if err != nil {
		return err
	}
	h := x.Out.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	x.Out.WriteHeader(http.StatusOK)
	if x.Request.Method == http.MethodHead {
		return nil
	}
	flow := http.NewResponseController(x.Out)
	_ = flow.SetWriteDeadline(time.Now().Add(x.g.ProbePause + surface.BodyTimeout))
	_, _ = fmt.Fprintf(x.Out, "event: probe\ndata: %s\n\n", first)
	if flow.Flush() != nil {
		return nil // who has gone needs no answer
	}
	select {
	case <-x.Ctx().Done():
	case <-time.After(x.g.ProbePause):
		_, _ = fmt.Fprint(x.Out, "event: end\ndata: {}\n\n")
	}
	_ = flow.SetWriteDeadline(time.Time{})
	return nil
}

// forwarded is what was said of the client's address, and whether it counts.
func (x *exchange) forwarded() string {
	said := len(x.Request.Header.Values("X-Forwarded-For")) > 0
	peer, trusted := x.Peer()
	switch {
	case x.ClientIP() == NobodysAddress:
		return ForwardedClaimed
	case said && trusted:
		return ForwardedCounted
	case said:
		x.g.Log.Info("a probe came through a proxy that trusted_proxies does not name", "proxy", peer.String())
		return ForwardedIgnored
	case trusted:
		return ForwardedMissing
	}
	return ForwardedNone
}
