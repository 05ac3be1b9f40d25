import { type Channel, invoke } from "@svc/runtime";
import refund from "../workflows/refund.ts";

// POST /api/channels/payments/events: a provider tells that a payment was contested.
export const channel: Channel = {
  routes: [
    {
      method: "POST",
      path: "/events",
      async handler(c) {
        const event = await c.req.json();
        if (event.type !== "contested") return c.json({ ignored: event.type });
        return c.json(await invoke(refund, { input: { order: event.order, customer: event.customer }, key: event.id }), 202);
      },
    },
  ],
};
