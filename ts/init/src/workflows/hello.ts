import { defineWorkflow, type WorkflowRouteHandler } from "@svc/runtime";
import * as v from "valibot";

// Guards of who may start a run, and of who may look at one. Without them neither is served.
export const route: WorkflowRouteHandler = (_c, next) => next();
export const runs = route;

// What a step has done is recorded, and read when the run is resumed. Outside of steps the function may run again from its start.
export default defineWorkflow({
  input: v.object({ name: v.string() }),
  async run({ input, step, sleep }) {
    const greeting = await step("greet", () => `Hello, ${input.name}!`);
    await sleep("1s");
    return { greeting };
  },
});
