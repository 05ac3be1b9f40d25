package gateway

import (
	"context"
	"mime"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
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
	if err := x.afford(memory.Decoded(body)); err != nil {
		return err
	}
	return strictjson.Decode(body, into)
}

// body is the whole body, if it is of that type, not encoded, and short enough.
func (x *exchange) body(want string, limits ...limit) ([]byte, error) {
	if err := x.checkType(want); err != nil {
		return nil, err
	}
	most := int64(max(x.most, maxBody))
	if x.r.ContentLength > most {
		return nil, tooLarge(most)
	}
	x.count(x.party())
	body, err := x.whole(most)
	if err != nil {
		return nil, err
	}
	for _, count := range limits {
		if err := count(x.ctx()); err != nil {
			return nil, err
		}
	}
	if err := x.still(); err != nil || x.slip == nil {
		return body, err
	}
	x.slip.Body = body
	return body, x.recall()
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

func tooLarge(most int64) error {
	return fault.New(fault.BodyTooLarge, "The body is too large.", "").With("limit", most)
}
