import { SvcError, type WorkflowRouteHandler, defineWorkflow, dispatch } from "@svc/runtime";
import * as v from "valibot";
import helper from "../agents/helper.ts";
import { findOrder } from "../shared/orders.ts";

export const description = "Gives the money for an order back.";
export const route: WorkflowRouteHandler = (_c, next) => next();
export const runs = route;

// What a step has done is recorded: a process that dies loses nothing of it. Outside of steps the function may run again from its start.
export default defineWorkflow({
  input: v.object({ order: v.string(), customer: v.string() }),
  async run({ input, step, sleep, log }) {
    const order = await step("find order", () => findOrder(input.order));
    if (order === null) throw new SvcError({ type: "order_not_found", message: `There is no order ${input.order}.` });
    const receipt = crypto.randomUUID(); // recorded: the same again after a restart
    log.info("refunding", { receipt, cents: order.cents });
    const [paid, mailed] = await Promise.all([
      step("pay back", { durable: true, retry: { attempts: 5, delay: "1s" } }, () => ({ receipt, cents: order.cents })),
      step("write a letter", () => `Dear ${input.customer}, ${order.cents / 100} are on their way.`),
    ]);
    await sleep(50);
    await step("tell the helper", () => dispatch(helper, { id: input.customer, message: { kind: "signal", type: "refunded", body: mailed }, key: receipt }));
    return { ...paid, mailed };
  },
});
