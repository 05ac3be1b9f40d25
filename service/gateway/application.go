package gateway

import (
	"net/http"
	"strings"
)

// foreverCache is for what never changes at its address.
const foreverCache = "public, max-age=31536000, immutable"

// serveAsset serves a file of the pages or of the web application; its address changes with its content.
func serveAsset(x *exchange) error {
	if body, contentType, ok := x.g.Pages.Asset(x.Request.URL.Path); ok {
		return x.Send(http.StatusOK, contentType, foreverCache, body)
	}
	file, ok := x.g.Application.Asset(x.params["file"])
	if !ok {
		return noRoute(x.Request)
	}
	if file.Gzip != nil || file.Brotli != nil {
		x.Out.Header().Add("Vary", "Accept-Encoding")
	}
	body := file.Body
	switch {
	case file.Brotli != nil && takes(x.Request, "br"):
		x.Out.Header().Set("Content-Encoding", "br")
		body = file.Brotli
	case file.Gzip != nil && takes(x.Request, "gzip"):
		x.Out.Header().Set("Content-Encoding", "gzip")
		body = file.Gzip
	}
	return x.Send(http.StatusOK, file.ContentType, foreverCache, body)
}

// takes reports whether a client takes what is encoded so. One that weighs encodings against each other gets what is not.
func takes(r *http.Request, encoding string) bool {
	for each := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(each) == encoding {
			return true
		}
	}
	return false
}

// serveApplication serves the document of the web application, under its own policy.
func serveApplication(x *exchange) error {
	if x.g.Application == nil {
		return noRoute(x.Request)
	}
	status := http.StatusOK
	if !x.g.Application.Built() {
		status = http.StatusServiceUnavailable
	}
	body, policy := x.g.Application.Document(string(x.Surface))
	x.Out.Header().Set("Content-Security-Policy", policy)
	return x.Send(status, "text/html; charset=utf-8", "no-store", body)
}
