package gateway

import (
	"strconv"
	"strings"

	"svc.dev/svc/fault"
)

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// ifMatch is the version that the client means; zero is any.
func (x *exchange) ifMatch() (int64, error) {
	given := x.r.Header.Values("If-Match")
	if len(given) == 0 || len(given) == 1 && given[0] == "*" {
		return 0, nil
	}
	if len(given) == 1 {
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(given[0], `"`), `"`), 10, 64)
		if err == nil && n > 0 && etag(n) == given[0] {
			return n, nil
		}
	}
	return 0, fault.New(invalidHeader, "If-Match is not a version.", `Send it as "<version>".`)
}
