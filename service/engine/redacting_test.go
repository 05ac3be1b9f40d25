package engine_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/scope"
)

func TestAnErrorOfTheRuntimeShowsNoSecret(t *testing.T) {
	redactor := redact.New()
	redactor.Add([]byte("hunter2-hunter2"))
	_, e := start(t, func(c *engine.Config) { c.Redact = redactor.JSON })
	for path, status := range map[string]int{
		"/agents/hunter2-hunter2/1": 404, "/hunter2-hunter2": 404, engine.Prefix + "/hunter2-hunter2": 404, engine.WorkflowPath + "?name=hunter2-hunter2": 404,
		engine.AgentsPath + "?q=hunter2-hunter2": 200,
	} {
		r := httptest.NewRequestWithContext(scope.With(t.Context(), claims("ada")), "GET", path, nil)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if body := w.Body.String(); w.Code != status || strings.Contains(body, "hunter2") || status != 200 && !strings.Contains(body, redact.Placeholder) {
			t.Errorf("%s: %d %s", path, w.Code, body)
		}
	}
}
