package gateway

import (
	"net/http"

	"svc.dev/svc/service/operation"
)

// openAPI serves the description of this API.
func (x *exchange) openAPI() error {
	body, err := operation.JSON()
	if err != nil {
		return err
	}
	h := x.out.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300")
	x.out.WriteHeader(http.StatusOK)
	if x.r.Method != http.MethodHead {
		_, _ = x.out.Write(body) // who has gone needs no answer
	}
	return nil
}
