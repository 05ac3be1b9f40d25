package surface

import (
	"slices"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
)

// CheckFrom judges where a request comes from that a cookie stands for.
func (x *Exchange) CheckFrom() error {
	if x.Safe() {
		return x.CheckRead()
	}
	return x.CheckOrigin()
}

// CheckOrigin lets an unsafe request pass only if a page of this very surface sent it. What says nothing about its origin
// is refused: programs use API keys, or say it.
func (x *Exchange) CheckOrigin() error {
	site, origin := x.Request.Header.Values("Sec-Fetch-Site"), x.Request.Header.Values("Origin")
	bySite := slices.Equal(site, []string{"same-origin"}) && len(origin) <= 1
	byOrigin := len(site) == 0 && slices.Equal(origin, []string{x.config.Surfaces.Origin(x.Surface)})
	if bySite || byOrigin {
		return nil
	}
	return errCrossOrigin()
}

// CheckRead keeps pages of strangers from reading the API with a person's cookie.
func (x *Exchange) CheckRead() error {
	if slices.Contains(x.Request.Header.Values("Sec-Fetch-Site"), "cross-site") && x.Request.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return errCrossOrigin()
	}
	return nil
}

// CheckReader refuses a page that may not read the answer, whatever it brings. What says nothing of a page is none.
func (x *Exchange) CheckReader() error {
	for _, origin := range x.Request.Header.Values("Origin") {
		if !slices.Contains(x.readers(), origin) {
			return errCrossOrigin()
		}
	}
	return nil
}

func errCrossOrigin() error {
	return fault.New(fault.CrossOrigin, "This request did not come from this site.", "Send it from a page of this surface, or with its Origin header.")
}

// readers are the origins whose pages may read what this surface shares: those of all three, and of Admin its own alone. A
// page of the customers must never see with the eyes of the staff.
func (x *Exchange) readers() []string {
	if x.Surface == access.Admin {
		return []string{x.config.Surfaces.Origin(access.Admin)}
	}
	return x.config.Surfaces.Origins()
}

// Share lets the pages of the surfaces that may read an answer that is about the person who is signed in.
func (x *Exchange) Share() {
	h := x.Out.Header()
	h.Add("Vary", "Origin")
	origin := x.Request.Header.Get("Origin")
	if slices.Contains(x.readers(), origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "X-Request-Id")
	}
}

// streamHeaders are what scripts may read of an answer.
const streamHeaders = "Stream-Next-Offset, Stream-Up-To-Date, Stream-Closed, Stream-Cursor, ETag, Retry-After, X-Request-Id, Idempotency-Replayed, Location"

// Expose lets the pages that may read answers below {base_url}.
func (x *Exchange) Expose() {
	x.Share()
	if x.Out.Header().Get("Access-Control-Allow-Origin") != "" {
		x.Out.Header().Set("Access-Control-Expose-Headers", streamHeaders)
	}
}

// Preflight answers a browser that asks before it sends. Only pages that may read the answer hear that they may.
func (x *Exchange) Preflight() error {
	if !slices.Contains(x.readers(), x.Request.Header.Get("Origin")) {
		return errCrossOrigin()
	}
	h := x.Out.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Authorization")
	h.Set("Access-Control-Max-Age", "600")
	return x.None()
}
