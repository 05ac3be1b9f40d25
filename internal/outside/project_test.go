package outside

import (
	"fmt"
	"os"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// application mounts the API below a prefix, behind a middleware that sets a header.
const application = `
-- app.ts --
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.use("/shop/*", async (c, next) => { await next(); c.header("x-shop", "open"); });
export default app.route("/shop/:version", svc());
`

// TestClientFollowsBehindAnApplication has the published client follow a run and a reply through a project's app.ts while they are made, and
// across a restart of it.
func TestClientFollowsBehindAnApplication(t *testing.T) {
	needNode(t)
	folder := bundletest.With(t, bundletest.Project(t, application))
	for i, live := range modes[1:] {
		for j, name := range []string{"run", "agent"} {
			if i != j && os.Getenv("SVC_SOAK") != "1" {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", name, live), func(t *testing.T) {
				t.Parallel()
				p := &program{db: sqldbtest.SQLite(t), address: "127.0.0.1:0", project: folder, prefix: "/shop/v1"}
				p.start(t)
				t.Cleanup(func() { p.stop() })
				target := p.begin(t, name)
				batches := 0
				got, _ := plan{target, live, 0}.read(t, func(batch) {
					if batches++; batches == 3 {
						p.restart(t)
					}
				})
				wantSame(t, target.whole(t), got)
			})
		}
	}
}
