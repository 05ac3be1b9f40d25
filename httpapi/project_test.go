package httpapi_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/ts"
)

const (
	atRoot = `
-- app.ts --
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
export default new Hono().route("/", svc());
`
	belowPrefix = `
-- app.ts --
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.use("/shop/*", async (c, next) => { c.set("seen", true); await next(); });
export default app.route("/shop/:version", svc());
`
)

// TestTranscriptsBehindAnApplication replays the same bytes through a project's app.ts, which mounts the API.
func TestTranscriptsBehindAnApplication(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, c := range []struct{ name, archive, prefix string }{{"root", atRoot, ""}, {"prefix", belowPrefix, "/shop/v1"}} {
		t.Run(c.name, func(t *testing.T) {
			address := newServer(t, settings{extras: true, Config: patient, around: project(t, c.archive)}).address()
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".txtar")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					data, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					replay(t, address, application{c.prefix, "404 Not Found"}, txtar.Parse(data))
				})
			}
		})
	}
}

// project stands around the API as an application does.
func project(t *testing.T, archive string) surrounding {
	t.Helper()
	dir := bundletest.With(t, bundletest.Project(t, archive))
	return func(rt *svc.Runtime, c httpapi.Config) (http.Handler, func()) {
		p, err := ts.Load(t.Context(), rt, dir, ts.Config{API: c, Log: c.Log})
		if err != nil {
			t.Fatal(err)
		}
		return p, p.Close
	}
}
