import type { AgentMessage } from "@svc/react";
import type { ToolPart } from "@svc/sdk";
import type { Folded } from "../runs/fold";
import { firstLine } from "../runs/message";
import type { Bar, Cause, Facts, Kind, Span, State } from "../runs/span";
import { begunAt } from "./measured";
import { argumentOf, toolName, toolState } from "./tool";
import { endOf, piecesOf, textOf, type Turn } from "./turns";

/**
 * traceOf is the timeline of a turn. A conversation tells when each message was begun and how long each tool took, not when a message was
 * complete: it was when its tools began, which is so long before the next message as the slowest of them took. The end of the last one is
 * known where the turn was seen to end, or was stopped; else it is said that nobody recorded it.
 */
export function traceOf(turn: Turn, running: boolean): Folded {
  return new Tracing(turn, running).folded();
}

class Tracing {
  readonly #turn: Turn;
  readonly #running: boolean;
  readonly #spans = new Map<string, Span>();
  readonly #origin: number;
  /** When all was over, since the origin; undefined: it is not, or nobody knows. */
  readonly #end: number | undefined;
  readonly #cause: Cause | undefined;
  #last = 0;

  constructor(turn: Turn, running: boolean) {
    this.#turn = turn;
    this.#running = running;
    this.#origin = stampOf(turn.input) ?? stampOf(turn.replies[0]) ?? 0;
    const end = endOf(turn);
    this.#end = end === undefined ? undefined : Math.max(0, end - this.#origin);
    const { settlement } = turn;
    this.#cause = settlement?.outcome === "failed" ? { name: settlement.error?.type ?? "Failed", message: settlement.error?.message ?? "No reason was given." } : undefined;
  }

  folded(): Folded {
    const prompt = this.#span("prompt", "operation", this.#turn.input?.role === "user" ? "prompt" : "signal", undefined);
    prompt.note = firstLine(textOf(this.#turn.input));
    prompt.input = textOf(this.#turn.input) || undefined;
    const replies = this.#turn.replies.filter((message) => message.role === "assistant");
    replies.forEach((message, i) => this.#reply(message, i, this.#after(message), prompt));
    this.#fail([...this.#spans.values()].findLast((span) => span.kind === "turn") ?? prompt);
    this.#close(prompt, 0, this.#end, this.#settled());
    prompt.cause = prompt.state === "failed" ? this.#cause : undefined;
    return { spans: this.#spans, roots: [prompt], bands: [], logs: [], startedAt: this.#origin, duration: this.#running ? undefined : (this.#end ?? this.#last), cause: this.#cause, last: this.#last };
  }

  /** reply adds a message and the tools that it asked for. */
  #reply(message: AgentMessage, i: number, next: number | undefined, prompt: Span): void {
    const from = this.#at(message) ?? this.#last;
    const calls = message.parts.filter((part) => part.type === "dynamic-tool");
    const slowest = Math.max(0, ...calls.map((call) => call.durationMs ?? 0));
    const asked = this.#batchAt(message, calls, next === undefined ? undefined : next - slowest, from);
    const span = this.#span(message.id, "turn", `turn ${i + 1}`, prompt);
    const { usage, model } = message.metadata;
    span.note = model ? `${model.provider}/${model.id}` : "";
    span.output = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n") || undefined;
    Object.assign(span.facts, { turnId: message.turnId, model: span.note || undefined, tokens: usage?.totalTokens, cost: usage?.cost.total });
    const seam = this.#cutAfter(message);
    this.#close(span, from, calls.length > 0 ? asked : (seam ?? next), seam === undefined ? "done" : "interrupted");
    for (const call of calls) this.#call(call, asked, span, prompt);
  }

  #call(call: ToolPart, from: number, askedBy: Span, prompt: Span): void {
    const span = this.#span(call.toolCallId, "tool", toolName(call.toolName), prompt);
    const state = toolState(call, this.#running);
    span.note = argumentOf(call.input);
    span.input = call.input;
    span.output = call.output ?? call.errorText;
    Object.assign(span.facts, { toolCallId: call.toolCallId, askedBy });
    const end = call.durationMs === undefined ? undefined : from + call.durationMs;
    this.#close(span, from, end, state === "failed" ? "failed" : state === "interrupted" || state === "lost" ? "interrupted" : "done");
    if (state === "failed") span.cause = { name: "Failed", message: call.errorText || "The tool failed without a word." };
  }

  /** batchAt is when the tools of a message began: told by what came after them, else by when this page saw them. */
  #batchAt(message: AgentMessage, calls: readonly ToolPart[], told: number | undefined, from: number): number {
    const piece = piecesOf([message]).find((each) => each.kind === "tools");
    const seen = calls.length > 0 && piece ? begunAt(piece.key) : undefined;
    return Math.max(from, told ?? (seen === undefined ? from : seen - this.#origin));
  }

  /** after is when what follows a message began; behind the last, when all was over. */
  #after(message: AgentMessage): number | undefined {
    const replies = this.#turn.replies;
    const next = replies.slice(replies.indexOf(message) + 1).find((each) => each.role === "assistant");
    return next ? this.#at(next) : this.#end;
  }

  /** cutAfter is when a restart was noticed that cut a message; undefined: none did. */
  #cutAfter(message: AgentMessage): number | undefined {
    const replies = this.#turn.replies;
    const behind = replies[replies.indexOf(message) + 1];
    return behind && /_stream_(interrupted|continued)$/.test(behind.id) ? this.#at(behind) : undefined;
  }

  #settled(): State {
    const outcome = this.#turn.settlement?.outcome;
    return outcome === "failed" ? "failed" : outcome === "aborted" ? "interrupted" : "done";
  }

  /** fail marks the last turn where all has failed: it is the one that could not be answered. */
  #fail(span: Span): void {
    const bar = span.bars.at(-1);
    if (!this.#cause || span.kind !== "turn") return;
    span.state = "failed";
    span.cause = this.#cause;
    if (bar) bar.state = "failed";
  }

  #at(message: AgentMessage): number | undefined {
    const stamp = stampOf(message);
    return stamp === undefined ? undefined : Math.max(0, stamp - this.#origin);
  }

  #span(id: string, kind: Kind, name: string, parent: Span | undefined): Span {
    const facts: Facts = {};
    const span: Span = { id, kind, parent, children: [], name, note: "", bars: [], kept: [], state: "open", cause: undefined, firstText: undefined, input: undefined, output: undefined, facts };
    this.#spans.set(id, span);
    parent?.children.push(span);
    return span;
  }

  /** close gives a span its bar: open while the turn runs, and without a known end where nobody recorded it. */
  #close(span: Span, from: number, to: number | undefined, state: State): void {
    const over = to !== undefined || !this.#running;
    const bar: Bar = { from, to: over ? Math.max(from, to ?? this.#last) : undefined, state: over ? state : "open", attempt: undefined, ...(over && to === undefined && { unsure: true }) };
    span.bars.push(bar);
    span.state = bar.state;
    this.#last = Math.max(this.#last, from, bar.to ?? 0);
  }
}

function stampOf(message: AgentMessage | undefined): number | undefined {
  const stamp = Date.parse(message?.metadata.timestamp ?? "");
  return Number.isNaN(stamp) ? undefined : stamp;
}
