import { useEffect, useMemo, useRef, useState } from "react";
import type { Agent, AgentMessage, Pending } from "@svc/react";
import type { DeliveredMessage, Part } from "@svc/sdk";
import { bare, imagesOf, useSendings } from "./sendings";

/** Texts of prompts that wait, and the names of their images, by their submissions. */
export type Texts = Readonly<Record<string, DeliveredMessage>>;

type Known = Pick<Agent, "messages" | "pending" | "settlements">;

/**
 * useUnsent keeps what is not in the conversation yet. Of prompts that wait it keeps the texts: the service tells but the beginning of one,
 * and nothing of it when it was stopped before it was begun. They outlive a reload, so that no text is lost by Stop.
 */
export function useUnsent(agent: Agent, name: string): Agent {
  useSendings(agent, name);
  const key = `svc.waiting.${name}`;
  const [held, hold] = useState(() => ({ key, texts: read(key) }));
  const texts = waitingIn(held.key === key ? held.texts : read(key), agent);
  if (held.key !== key || held.texts !== texts) hold({ key, texts });
  useEffect(() => write(key, texts), [key, texts]);

  const [made] = useState(() => new Made());
  const shown = useMemo(() => made.shown(agent, texts), [agent, texts, made]);
  const now = useRef({ agent, shown });
  now.current = { agent, shown };
  const [acts] = useState(() => {
    /** take is the prompt of a key that was kept here, which is kept no longer. */
    const take = (of: string): Pending | undefined => {
      const pending = now.current.shown.pending.find((each) => each.key === of);
      if (pending?.submissionId !== undefined) hold(({ texts: { [pending.submissionId!]: _, ...others }, ...rest }) => ({ ...rest, texts: others }));
      return pending && pending.key.startsWith(mark) ? pending : undefined;
    };
    const retry: Agent["retry"] = (of) => {
      const own = take(of);
      return own ? now.current.agent.send(own.message) : now.current.agent.retry(of);
    };
    const discard: Agent["discard"] = (of) => void (take(of) ?? now.current.agent.discard(of));
    return { retry, discard };
  });
  return useMemo(() => ({ ...agent, ...shown, ...acts }), [agent, shown, acts]);
}

/** Keys of prompts that only this page knows of begin so. */
const mark = "unsent-";

/** Made are the rows that this page adds to a conversation: the same object for the same row. */
class Made {
  readonly #whole = new WeakMap<AgentMessage, AgentMessage>();
  readonly #stopped = new Map<string, AgentMessage>();

  /** shown is a conversation with the texts that were kept: those of this tab's prompts are whole, and those that were stopped are offered. */
  shown(agent: Agent, texts: Texts): Pick<Agent, "messages" | "pending"> {
    if (Object.keys(texts).length === 0) return { messages: agent.messages, pending: agent.pending };
    const known = agent.messages.map((message) => (message.pending && !message.pending.own && texts[message.submissionId ?? ""] !== undefined ? this.#wholeOf(message, message.pending, texts[message.submissionId ?? ""]!) : message));
    const messages = [...known, ...stoppedIn(texts, agent).map((id) => this.#stoppedOf(id, texts[id]!))];
    return { messages, pending: messages.flatMap(({ pending }) => pending ?? []) };
  }

  /** wholeOf is a prompt of this tab from before a reload, with all of its text. */
  #wholeOf(message: AgentMessage, pending: Pending, sent: DeliveredMessage): AgentMessage {
    const made = this.#whole.get(message) ?? { ...message, parts: partsOf(sent), pending: { ...pending, own: true, message: sent } };
    this.#whole.set(message, made);
    return made;
  }

  #stoppedOf(submissionId: string, message: DeliveredMessage): AgentMessage {
    const key = mark + submissionId;
    const pending: Pending = { key, state: "stopped", message, submissionId, error: undefined, submission: undefined, own: true };
    const made = this.#stopped.get(key) ?? { id: key, key, role: "user", purpose: "user", display: "visible", submissionId, parts: partsOf(message), metadata: {}, pending };
    this.#stopped.set(key, made);
    return made;
  }
}

function partsOf(message: DeliveredMessage): readonly Part[] {
  const images = imagesOf(message).map(({ mimeType, filename }, i): Part => ({ type: "file", id: `image-${i}`, mediaType: mimeType, size: 0, ...(filename && { filename }) }));
  return [{ type: "text", text: message.body, state: "done" }, ...images];
}

/** waitingIn are the texts with those of prompts that wait now, and without those that the conversation has. The same object where nothing changes. */
export function waitingIn(texts: Texts, { messages, pending }: Known): Texts {
  const waits = pending.filter((each) => each.own && each.state === "waiting" && each.submissionId !== undefined && texts[each.submissionId] === undefined);
  const begun = messages.filter((message) => !message.pending && message.submissionId !== undefined && texts[message.submissionId] !== undefined);
  if (waits.length === 0 && begun.length === 0) return texts;
  const all: Record<string, DeliveredMessage> = { ...texts };
  for (const each of waits) all[each.submissionId!] = bare(each.message);
  for (const { submissionId } of begun) delete all[submissionId!];
  return all;
}

/** stoppedIn are the prompts that were ended before they were begun, and that nobody else offers again. */
export function stoppedIn(texts: Texts, { pending, settlements }: Known): readonly string[] {
  const shown = new Set(pending.map(({ submissionId }) => submissionId));
  return settlements.flatMap(({ submissionId }) => (texts[submissionId] !== undefined && !shown.has(submissionId) ? [submissionId] : []));
}

function read(key: string): Texts {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "{}") as Texts;
  } catch {
    return {};
  }
}

function write(key: string, texts: Texts): void {
  try {
    if (Object.keys(texts).length === 0) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(texts));
  } catch {
    // They are only kept for a reload.
  }
}
