import assert from "node:assert/strict";
import type { Message, Part, Settlement } from "@svc/sdk";

interface Told {
  messages: readonly Message[];
  settlements: readonly Settlement[];
}

/**
 * wantSame holds what was folded to the history of the service, but for what the contract lets differ (wire.md 4, rule 7). One
 * who began in the middle of a reply does not learn its model.
 */
export function wantSame(folded: Told, history: Told, what = "the conversation", middle = false): void {
  const plainly = (message: Message): unknown => plain(message, middle);
  assert.deepEqual(folded.messages.map(plainly), history.messages.map(plainly), what);
  assert.deepEqual(folded.settlements, history.settlements, what);
}

/** plain is a message without its empty blocks, its neighbouring blocks joined, and without the model of a reply in progress. */
function plain(message: Message, middle: boolean): unknown {
  const parts: Part[] = [];
  for (const part of message.parts) {
    const last = parts.at(-1);
    if (part.type !== "text" && part.type !== "reasoning") parts.push(part);
    else if (last?.type === part.type) parts[parts.length - 1] = { ...part, text: (last as typeof part).text + part.text };
    else if (part.text !== "" || message.role !== "assistant") parts.push(part);
  }
  const { model, ...metadata } = message.metadata;
  const told = model && metadata.usage && !middle;
  return { ...message, parts, metadata: told ? message.metadata : metadata };
}
