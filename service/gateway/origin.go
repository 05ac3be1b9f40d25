package gateway

import (
	"net/http"
	"slices"

	"svc.dev/svc/fault"
)

// safe reports whether a method changes nothing.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions || method == http.MethodTrace
}

// checkOrigin lets an unsafe request pass only if a page of this very surface sent it. What says nothing about its origin
// is refused: programs use API keys, or say it.
func (x *exchange) checkOrigin() error {
	site, origin := x.r.Header.Values("Sec-Fetch-Site"), x.r.Header.Values("Origin")
	if len(site) > 1 || len(origin) > 1 {
		return errCrossOrigin()
	}
	if len(site) == 1 {
		if site[0] != "same-origin" {
			return errCrossOrigin()
		}
		return nil
	}
	if len(origin) == 1 && origin[0] == x.g.Surfaces.origin(x.surface) {
		return nil
	}
	return errCrossOrigin()
}

// checkRead keeps pages of strangers from reading the API with a person's cookie.
func (x *exchange) checkRead() error {
	if slices.Contains(x.r.Header.Values("Sec-Fetch-Site"), "cross-site") && x.r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return errCrossOrigin()
	}
	return nil
}

func errCrossOrigin() error {
	return fault.New(crossOrigin, "This request did not come from this site.", "Send it from a page of this surface, or with its Origin header.")
}

// readers are the origins whose pages may read what this surface shares: those of all three, and of Admin its own alone. A
// page of the customers must never see with the eyes of the staff.
func (x *exchange) readers() []string {
	if x.surface == Admin {
		return []string{x.g.Surfaces.origin(Admin)}
	}
	return x.g.Surfaces.origins()
}

// share lets the pages of the surfaces that may read an answer that is about the person who is signed in.
func (x *exchange) share() {
	h := x.out.Header()
	h.Add("Vary", "Origin")
	origin := x.r.Header.Get("Origin")
	if slices.Contains(x.readers(), origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "X-Request-Id")
	}
}
