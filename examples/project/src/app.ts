import { getRun, listRuns } from "@svc/runtime";
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";

const app = new Hono<{ Variables: { customer: string } }>();

app.get("/", (c) => c.text("A shop."));
app.get("/refunds", async (c) => c.json(await listRuns({ workflowName: "refund" })));
app.get("/refunds/:id", async (c) => c.json(await getRun(c.req.param("id"))));

// Everything below /api is the service's own. Who asks is decided here, once.
app.use("/api/*", async (c, next) => {
  c.set("customer", c.req.header("x-customer") ?? "");
  await next();
});
app.route("/api", svc());

export default app;
