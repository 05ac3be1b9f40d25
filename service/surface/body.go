package surface

import (
	"mime"
	"time"

	"svc.dev/svc/fault"
)

// BodyTimeout is how long a client may take to send a body that is read as a whole.
const BodyTimeout = 10 * time.Second

// maxBody is how long the body of a route may be that asks for no more.
const maxBody = 16 << 10

// The types of bodies that are read.
const (
	TypeJSON = "application/json"
	TypeForm = "application/x-www-form-urlencoded"
)

// Body is the whole body, if it is of that type, not encoded, and short enough: of so many bytes where that is more than usual.
func (x *Exchange) Body(want string, most int) ([]byte, error) {
	if err := x.checkType(want); err != nil {
		return nil, err
	}
	limit := int64(max(most, maxBody))
	if x.Request.ContentLength > limit {
		return nil, TooLarge(limit)
	}
	x.Count(x.party())
	return x.Whole(limit)
}

func (x *Exchange) checkType(want string) error {
	given := x.Request.Header.Values("Content-Type")
	if len(given) == 1 && len(x.Request.Header.Values("Content-Encoding")) == 0 {
		if media, params, err := mime.ParseMediaType(given[0]); err == nil && media == want && plainText(params) {
			return nil
		}
	}
	return fault.New(fault.UnsupportedMediaType, "The body must be "+want+".", "Send it without Content-Encoding.")
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

// TooLarge is the refusal of a body that is longer than it may be.
func TooLarge(most int64) error {
	return fault.New(fault.BodyTooLarge, "The body is too large.", "").With("limit", most)
}
