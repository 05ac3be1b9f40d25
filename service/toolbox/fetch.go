package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/outward"
)

// Bounds of one fetch.
const (
	fetchTime    = 30 * time.Second
	maxRedirects = 5
	maxPage      = 2 << 20     // bytes that are read of an answer
	pageRoom     = 6 * maxPage // that it takes: as it came, as text, and without its markup
)

// userAgent is who pages are told that reads them.
const userAgent = "svc-http-fetch/1"

type fetching struct {
	URL    string `json:"url" jsonschema:"The address, beginning with https:// or http://."`
	Method string `json:"method,omitempty" jsonschema:"GET, if not said, or HEAD for the status and type alone."`
	From   int    `json:"from,omitempty" jsonschema:"How many bytes of the text to pass over, to go on where an answer was cut."`
}

func (h hand) httpFetch() svc.Tool {
	return define(h, "http_fetch", "Fetch a page or a text from the web, from hosts that this agent was given. HTML comes as readable text.", fetchTime,
		func(ctx context.Context, in fetching) (string, error) {
			method := strings.ToUpper(in.Method)
			if method == "" {
				method = http.MethodGet
			}
			if method != http.MethodGet && method != http.MethodHead {
				return "", fault.Invalid("method is GET or HEAD.")
			}
			if _, _, err := h.acting(ctx, prompts, ""); err != nil {
				return "", err
			}
			u, err := h.aim(in.URL)
			if err != nil {
				return "", err
			}
			response, err := h.fetch(ctx, method, u)
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			release, err := h.room(ctx, pageRoom)
			if err != nil {
				return "", err
			}
			defer release()
			return pageOf(response, max(in.From, 0))
		})
}

// fetch asks, and again where it is sent on to. Each address is judged as the first was.
func (h hand) fetch(ctx context.Context, method string, u *url.URL) (*http.Response, error) {
	for range maxRedirects + 1 {
		r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
		if err != nil {
			return nil, fault.Invalid("url is not an address.")
		}
		r.Header.Set("User-Agent", userAgent)
		r.Header.Set("Accept", "text/*, application/json, application/xml;q=0.9, */*;q=0.1")
		response, err := h.config.Fetch.Client().Do(r)
		if err != nil {
			return nil, h.unreached(ctx, err)
		}
		to := response.Header.Get("Location")
		if response.StatusCode/100 != 3 || to == "" {
			return response, nil
		}
		response.Body.Close()
		next, err := u.Parse(to)
		if err != nil {
			return nil, fault.Invalid("The address leads on to what is none.")
		}
		if u.Scheme == "https" && next.Scheme != "https" {
			return nil, fault.New(fault.Forbidden, "The address leads on from https to http.", "")
		}
		if err := h.judge(next); err != nil {
			return nil, err
		}
		u = next
	}
	return nil, fault.Invalid("The address leads on more than %d times.", maxRedirects)
}

// unreached says why an address was not reached, and nothing of what lies behind the guard.
func (h hand) unreached(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, outward.ErrForbidden):
		return h.forbiddenHost()
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fault.New(fault.BadGateway, "The address could not be reached.", reason(err))
}

// reason is the innermost part of an error, which names no address.
func reason(err error) string {
	if found, ok := errors.AsType[*net.DNSError](err); ok {
		return found.Err
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return cut(err.Error(), 200)
}

// pageOf is an answer as text.
func pageOf(r *http.Response, from int) (string, error) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var a passage
	a.line("%s %s", cut(r.Status, maxLine), cut(kind, maxLine))
	a.line("%s", cut(r.Request.URL.String(), maxLine))
	if r.Request.Method == http.MethodHead {
		return a.String(), nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxPage+1))
	if err != nil {
		return "", fault.New(fault.BadGateway, "The answer broke off.", reason(err))
	}
	more := len(body) > maxPage
	body = body[:min(len(body), maxPage)]
	if kind == "" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	if !isTextual(kind) || !isText(body, false) && params["charset"] == "" {
		return "", fault.Invalid("The answer is no text: %s.", fmt.Sprintf("%q", cut(kind, 100)))
	}
	text := decoded(body, params["charset"])
	if kind == "text/html" || kind == "application/xhtml+xml" {
		text = readable(text)
	}
	a.WriteByte('\n')
	a.rest(text, from, more)
	return a.String(), nil
}

// rest adds what there is room for of a text, from a byte on, and says how to go on.
func (a *passage) rest(text string, from int, more bool) {
	from = len(cut(text, from))
	piece := cut(text[from:], max(0, maxAnswer-a.Len()))
	a.WriteString(piece)
	a.WriteByte('\n')
	switch end := from + len(piece); {
	case end < len(text):
		a.hint("there is more: go on with from=%d", end)
	case more:
		a.hint("the page is longer than what is read of it")
	}
}

// isTextual reports whether a media type is that of a text.
func isTextual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return kind != "image/svg+xml"
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/ndjson", "application/yaml",
		"application/x-yaml", "application/toml":
		return true
	}
	return false
}
