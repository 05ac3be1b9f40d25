import type { Agent } from "@svc/react";
import { SvcError } from "@svc/sdk";
import { sentenceOf } from "../kit/Refusal";
import { reasonFor, useMay } from "../server/role";

/** useDoor says whether one may write, and why not: by one's role, by what the page says, or by what the service has answered. */
export function useDoor(agent: Agent, closed: string | undefined): { may: boolean; shut: string | undefined } {
  const { may, why } = useMay("work");
  const role = why === reasonFor("work") ? "You can read here. Builders can write." : why;
  const shut = role ?? closed ?? closedBy(agent);
  return { may: may && shut === undefined, shut };
}

/** closedBy is the refusal after which nothing can be sent: it is not allowed any more, or not there. */
export function closedBy({ phase, error, pending }: Pick<Agent, "phase" | "error" | "pending">): string | undefined {
  const refusal = phase === "error" ? error : pending.findLast(({ state }) => state === "refused")?.error;
  return refusal instanceof SvcError && (refusal.status === 403 || refusal.status === 404) ? sentenceOf(refusal) : undefined;
}
