package gateway

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/site"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/surface"
)

// show answers with a page, under its own policy.
func (x *exchange) show(status int, view page.View) error {
	var b bytes.Buffer
	if err := x.g.Pages.Render(&b, view); err != nil {
		return err
	}
	x.Out.Header().Set("Content-Security-Policy", x.g.Pages.Policy(view))
	return x.Send(status, "text/html; charset=utf-8", "no-store", b.Bytes())
}

// failPage answers a person with a refusal. A person who must sign in first, or prove again who they are, is led there.
func (x *exchange) failPage(status int, f *fault.Error) {
	to := ""
	switch {
	case f.Type == account.Unauthenticated:
		to = x.g.Surfaces.Origin(Platform) + page.SignInPath
	case f.Type == account.ReauthRequired && x.Surface == Admin:
		to = page.ElevatePath
	case f.Type == account.ReauthRequired:
		to = x.g.Surfaces.Origin(Platform) + page.ReauthPath
	}
	if to != "" {
		_ = x.See(x.Onward(), to+"?returnTo="+url.QueryEscape(x.back()))
		return
	}
	message, details := f.Message, f.Details
	if f.Type == fault.RouteNotFound {
		message, details = "There is no page at this address.", "It may have been mistyped, or moved."
	}
	connect, _ := f.Meta["connectUrl"].(string)
	err := x.show(status, page.Failure{Status: status, Message: message, Details: details, RetryAfter: f.RetryAfter, Connect: connect})
	if err != nil {
		x.Envelope(status, f)
	}
}

// back is where a person was: the page they asked for, or that of the form they sent.
func (x *exchange) back() string {
	path := x.Target()
	if !x.Safe() {
		path = formPage(x.Request.URL.Path)
		path += site.Kept(path, x.sent())
	}
	if x.Surface != Platform {
		path = x.g.Surfaces.Origin(x.Surface) + path
	}
	if !x.g.Surfaces.Has(path) {
		return page.ProfilePath
	}
	return path
}

// sent is the form of the request, as far as it can be read: the refusal may have come before anybody read it.
func (x *exchange) sent() []byte {
	if x.form == nil {
		x.form, _ = x.Body(surface.TypeForm, 0) // what is no form holds nothing to keep
	}
	return x.form
}

// formPage is the page that a form of the account stands on.
func formPage(path string) string {
	if path == page.EmailPath || path == page.VerificationPath {
		return page.ProfilePath
	}
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

// again shows the page of a form that was refused, with the sentence of the refusal and what was typed.
func (x *exchange) again(err error, r site.Row, v *site.Visit) error {
	f, status := x.judge(err)
	led := f.Type == account.Unauthenticated || f.Type == account.ReauthRequired && !r.Proves
	if r.Again == nil || led || status >= 500 && status != http.StatusServiceUnavailable {
		return err
	}
	view, err := r.Refused(x.Ctx(), v, page.Form{Error: f.Message, RetryAfter: f.RetryAfter, Fields: refusedFields(f)})
	if err != nil {
		return err
	}
	x.Out.RetryAfter(f.RetryAfter)
	return x.show(status, view)
}

// refusedFields are the fields of a refusal as pages name them.
func refusedFields(f *fault.Error) []page.FieldError {
	switch f.Type {
	case account.UsernameTaken:
		return []page.FieldError{{Field: "username", Type: "taken"}}
	case fault.NameTaken:
		return []page.FieldError{{Field: "business", Type: "taken"}}
	}
	var all []page.FieldError
	for _, each := range strictjson.FieldsOf(f) {
		all = append(all, page.FieldError(each))
	}
	return all
}
