package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/redact"
)

func TestARefusalShowsNoSecret(t *testing.T) {
	redactor := redact.New()
	redactor.Add([]byte("hunter2-hunter2"))
	s := quick(t, func(c *gateway.Config) { c.Redactor = redactor })
	for _, path := range []string{"/api/none/hunter2-hunter2", "/api/none/68756e746572322d68756e7465723200", "/api/none/ghu_16C7e42F292c6912E7710c838347Ae178B4a"} {
		got := s.do(t, call{path: path, header: http.Header{"Accept": {"application/json"}}})
		if got.StatusCode != 404 || !strings.Contains(got.body, "No route for GET /api/none/[redacted]") {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
}
