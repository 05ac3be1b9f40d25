import { useCallback, useEffect, useRef, useState } from "react";
import { SvcError, type Chunk, type Client } from "@svc/sdk";

/** Trial is one question that the page asks as its snippet does, and what is answered so far. */
export interface Trial {
  state: "asking" | "streaming" | "done" | "stopped" | "failed";
  text: string;
  /** Until the question was admitted, the first word came, and all was said; in milliseconds. */
  admittedMs?: number | undefined;
  firstMs?: number | undefined;
  wholeMs?: number | undefined;
  error?: SvcError | undefined;
}

/** follow is a trial after one more update. */
export function follow(trial: Trial, chunk: Pick<Chunk, "type"> & { kind?: string; delta?: string }, ms: number): Trial {
  if (chunk.type !== "message-delta" || chunk.kind !== "text") return trial;
  return { ...trial, state: "streaming", text: trial.text + (chunk.delta ?? ""), firstMs: trial.firstMs ?? ms };
}

/** toldOf is how a trial went, in figures: "202 in 38 ms · first word after 0.9 s · 2.6 s". */
export function toldOf(trial: Trial): string {
  const seconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
  return [
    trial.admittedMs !== undefined && `202 in ${seconds(trial.admittedMs)}`,
    trial.firstMs !== undefined && `first word after ${seconds(trial.firstMs)}`,
    trial.wholeMs !== undefined && `${seconds(trial.wholeMs)} in all`,
  ].filter(Boolean).join(" · ");
}

/** useTrial asks an agent, and follows the answer until it is whole or stopped. */
export function useTrial(): { trial: Trial | undefined; start: (client: Client, agent: string, instance: string, question: string) => void; stop: () => void } {
  const [trial, setTrial] = useState<Trial>();
  const going = useRef<{ stop: AbortController; abort: () => void }>(undefined);
  useEffect(() => () => going.current?.stop.abort(), []);

  const start = useCallback((client: Client, agent: string, instance: string, question: string) => {
    const stop = new AbortController();
    going.current?.stop.abort();
    going.current = { stop, abort: () => void client.agents.abort(agent, instance).catch(() => {}) };
    const began = performance.now();
    const since = (): number => performance.now() - began;
    const change = (next: (trial: Trial) => Trial): void => {
      if (!stop.signal.aborted) setTrial((before) => before && next(before));
    };
    setTrial({ state: "asking", text: "" });
    const ask = async (): Promise<void> => {
      const admission = await client.agents.send(agent, instance, { message: question, signal: stop.signal });
      change((trial) => ({ ...trial, admittedMs: since() }));
      await client.agents.wait(admission, { signal: stop.signal, onUpdate: (chunk) => change((trial) => follow(trial, chunk, since())) });
      change((trial) => ({ ...trial, state: "done", wholeMs: since() }));
    };
    ask().catch((thrown: unknown) => {
      const error = thrown instanceof SvcError ? thrown : new SvcError({ type: "internal_error", message: "Something went wrong on this page.", cause: thrown });
      change((trial) => ({ ...trial, state: "failed", error, wholeMs: since() }));
    });
  }, []);

  const stop = useCallback(() => {
    going.current?.abort();
    going.current?.stop.abort();
    setTrial((trial) => trial && { ...trial, state: "stopped" });
  }, []);
  return { trial, start, stop };
}
