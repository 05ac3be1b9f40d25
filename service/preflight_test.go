package service_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/servicetest"
)

// waitingProject has a workflow whose runs wait for a day behind a step of that name.
func waitingProject(t *testing.T, step string) string {
	t.Helper()
	return bundletest.Project(t, strings.ReplaceAll(`
-- src/workflows/ship.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = (c, next) => next();
export default defineWorkflow({
  async run({ step, sleep }) {
    const began = Date.now();
    await step("STEP", async () => began);
    await sleep(24 * 3600 * 1000);
    await step("send", async () => 1);
    return {};
  },
});
`, "STEP", step))
}

// TestAPreflightFindsWhatAChangedProjectBreaks leaves runs that wait, and rehearses them with the project as it was, with another,
// and with none.
func TestAPreflightFindsWhatAChangedProjectBreaks(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database, c.Project = address, waitingProject(t, "charge")
		log := slog.New(slog.DiscardHandler)
		served := servicetest.Start(t, c)
		ada := served.SignUp(t, "workflows:run", "runs:read")
		for range 3 {
			leaveRun(t, ada.API, ada.Key)
		}
		if strings.HasPrefix(address, "sqlite:") {
			if _, err := service.Preflight(t.Context(), c, log); err == nil || !strings.Contains(err.Error(), "is held by process") {
				t.Errorf("beside a service that runs: %v", err)
			}
			served.Stop()
			<-served.Done
		}
		for _, test := range []struct {
			change func(*config.Config)
			broken int
			kind   string
		}{
			{func(*config.Config) {}, 0, ""},
			{func(c *config.Config) { c.Project = waitingProject(t, "bill") }, 3, fault.RunDefinitionChanged},
			{func(c *config.Config) { c.Project = "" }, 3, fault.WorkflowNotFound},
		} {
			changed := c
			test.change(&changed)
			found, err := service.Preflight(t.Context(), changed, log)
			if err != nil {
				t.Fatal(err)
			}
			other := slices.ContainsFunc(found.Obstacles, func(o service.Obstacle) bool {
				return o.Kind != "run" || o.Type != test.kind || o.Name != "ship" || !strings.HasPrefix(o.Scope, "users/") || o.Reason == ""
			})
			if found.Runs != 3 || len(found.Obstacles) != test.broken || other {
				t.Errorf("%+v, want %d that are %s", found, test.broken, test.kind)
			}
		}
	})
}

// leaveRun begins a run and waits until it waits.
func leaveRun(t *testing.T, api, key string) {
	t.Helper()
	_, body, _ := strings.Cut(answerTo(t, http.MethodPost, api+"/workflows/ship", key), " ")
	var begun struct{ RunID string }
	if err := json.Unmarshal([]byte(body), &begun); err != nil || begun.RunID == "" {
		t.Fatalf("%s %v", body, err)
	}
	eventually(t, "the step has ended", func() bool {
		return strings.Contains(answerTo(t, http.MethodGet, api+"/runs/"+begun.RunID, key), `"state":"finished"`)
	})
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

func preflightOnce(t *testing.T, c config.Config) error {
	t.Helper()
	_, err := service.Preflight(t.Context(), c, slog.New(slog.DiscardHandler))
	return err
}

func TestAPreflightMakesNoDatabase(t *testing.T) {
	if err := preflightOnce(t, servicetest.Config(t)); err == nil || !strings.Contains(err.Error(), "there is no database at") {
		t.Errorf("without a database: %v", err)
	}
}
