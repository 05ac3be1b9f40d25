package gateway

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

// Bounds of the body of an account route.
const (
	maxBody     = 16 << 10
	bodyTimeout = 10 * time.Second
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
)

// limit counts a request before its body is looked at.
type limit func(context.Context) error

// decode reads a JSON body into a struct, strictly, within the limits.
func (x *exchange) decode(into any, limits ...limit) error {
	body, err := x.body(typeJSON, limits...)
	if err != nil {
		return err
	}
	return strictjson.Decode(body, into)
}

// form reads the fields of a page's form into a struct, as strictly.
func (x *exchange) form(into any, limits ...limit) error {
	body, err := x.body(typeForm, limits...)
	if err != nil {
		return err
	}
	return strictjson.Form(body, into)
}

// body is the whole body, if it is of that type, not encoded, and short enough.
func (x *exchange) body(want string, limits ...limit) ([]byte, error) {
	if err := x.checkType(want); err != nil {
		return nil, err
	}
	most := max(x.most, maxBody)
	if x.r.ContentLength > int64(most) {
		return nil, tooLarge(most)
	}
	// Who dribbles a body keeps no worker for long.
	patience := http.NewResponseController(x.out)
	_ = patience.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(nil, x.r.Body, int64(most)))
	_ = patience.SetReadDeadline(time.Time{})
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, tooLarge(most)
	}
	if err != nil {
		return nil, fault.Invalid("The body could not be read.").Because(err)
	}
	for _, count := range limits {
		if err := count(x.ctx()); err != nil {
			return nil, err
		}
	}
	return body, nil
}

func (x *exchange) checkType(want string) error {
	given := x.r.Header.Values("Content-Type")
	if len(given) == 1 && len(x.r.Header.Values("Content-Encoding")) == 0 {
		if media, params, err := mime.ParseMediaType(given[0]); err == nil && media == want && plainText(params) {
			return nil
		}
	}
	return fault.New(unsupportedContent, "The body must be "+want+".", "Send it without Content-Encoding.")
}

// plainText reports whether the parameters of a content type ask for nothing but UTF-8.
func plainText(params map[string]string) bool {
	for name, value := range params {
		if name != "charset" || (value != "utf-8" && value != "UTF-8") {
			return false
		}
	}
	return true
}

func tooLarge(most int) error {
	return fault.New(fault.BodyTooLarge, "The body is too large.", "").With("limit", most)
}
