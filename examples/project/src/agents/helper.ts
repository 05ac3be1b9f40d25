import { type AgentRouteHandler, defineAgent, defineTool } from "@svc/runtime";
import * as v from "valibot";
import { findOrder } from "../shared/orders.ts";

export const description = "Helps customers with their orders.";

// Runs before every request about a conversation. What app.ts has set is there.
export const route: AgentRouteHandler = async (c, next) => {
  if (c.get("customer") !== c.req.param("id")) return c.json({ error: "This is another customer's conversation." }, 403);
  await next();
};

const lookUpOrder = defineTool({
  name: "look_up_order",
  description: "Looks up one order.",
  input: v.object({ order: v.pipe(v.string(), v.description("such as order_1042")) }),
  run: ({ input }) => findOrder(input.order),
});

export default defineAgent(({ id }) => ({
  model: "scripted/helper",
  instructions: `You help ${id}. Be brief.`,
  tools: [lookUpOrder],
}));
