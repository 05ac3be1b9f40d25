import type { RunEvent, Step } from "@svc/sdk";
import { argumentOf, firstLine, isObject, resultText, saidOf, textOf } from "./message";
import type { Bar, Cause, Facts, Kind, Span, State } from "./span";

type Of<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/** Band is an interruption: from the last sign of life to the resume. It is not counted as work. */
export interface Band {
  readonly from: number;
  readonly to: number;
}

/** LogLine is a line that the workflow wrote, or the failure of a step. */
export interface LogLine {
  readonly index: number;
  readonly at: number;
  readonly stamp: string;
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly attributes: Readonly<Record<string, unknown>> | undefined;
  /** Said by a step of itself: most readers look at the bars instead. */
  readonly ofStep: boolean;
}

/**
 * Fold makes spans of the events of a run, one after the other, so that a live run costs what is new and not what is there. A bar is
 * its start stamp plus what it took: the stamp of its last event may be later, since tools of a batch are told together.
 */
export class Fold {
  readonly spans = new Map<string, Span>();
  readonly roots: Span[] = [];
  readonly bands: Band[] = [];
  readonly logs: LogLine[] = [];
  /** When the run started, in milliseconds since 1970: the origin of all times here. */
  startedAt: number | undefined;
  /** How long it took; undefined: it has not ended. */
  duration: number | undefined;
  /** Why the run failed. */
  cause: Cause | undefined;
  failed = false;
  tokens = 0;
  cost = 0;
  /** The stamp of the last event, since the start. */
  last = 0;
  count = 0;
  #open = new Set<Span>();
  #lastFailed: Span | undefined;
  #cutTools = new Map<string, Span>();
  #calls = new Map<string, { input: unknown; turn: Span | undefined }>();

  /** A tail of a run does not hold its start: the record knows it. */
  constructor(startedAt?: string) {
    if (startedAt) this.startedAt = Date.parse(startedAt);
  }

  add(event: RunEvent): void {
    const stamp = Date.parse(event.timestamp);
    if (event.type === "run_start" || event.type === "run_resume") this.startedAt = Date.parse(event.startedAt);
    this.startedAt ??= stamp;
    const at = Math.max(0, stamp - this.startedAt);
    this.count++;
    this.#take(event, at);
    this.last = Math.max(this.last, at);
  }

  #take(event: RunEvent, at: number): void {
    switch (event.type) {
      case "run_resume": return this.#resume(at);
      case "run_end": return this.#end(event, at);
      case "log": return this.#log(event, at);
      case "operation_start": return void this.#begin(this.#operation(event), at);
      case "operation": return this.#close(this.#operation(event), at, event.durationMs, event.isError, event.error, event.result);
      case "turn_start": return void this.#begin(this.#turn(event), at);
      case "turn": return this.#turned(event, at);
      case "turn_messages": return this.#settled(event, at);
      case "message_start": case "message_end": return this.#message(event);
      case "text_delta": return this.#text(event, at);
      case "tool_start": return void this.#begin(this.#tool(event, true), at);
      case "tool": return this.#tooled(event, at);
      case "task_start": return this.#tasked(event, at);
      case "task": return this.#close(this.#task(event), at, event.durationMs, event.isError, failure(event.result), event.result);
      case "compaction_start": return void this.#begin(this.#compaction(event, true), at);
      case "compaction": return this.#close(this.#compaction(event, false), at, event.durationMs, event.isError, event.error, undefined);
    }
  }

  // What an interruption cut was last seen alive at the event before it.
  #resume(at: number): void {
    this.#cut(this.last);
    if (at > this.last) this.bands.push({ from: this.last, to: at });
  }

  #end(event: Of<"run_end">, at: number): void {
    this.duration = Math.max(event.durationMs, 0);
    this.failed = event.isError;
    this.cause = event.isError ? causeOf(event.error) : undefined;
    this.#cut(at);
    // Events of a step say that it failed, and the end of the run why.
    if (this.cause && this.#lastFailed?.kind === "step") this.#lastFailed.cause ??= this.cause;
  }

  #cut(at: number): void {
    for (const span of this.#open) {
      const bar = span.bars.at(-1);
      if (bar && bar.to === undefined) Object.assign(bar, { to: Math.max(bar.from, at), state: "interrupted" });
      span.state = "interrupted";
      if (span.facts.toolCallId) this.#cutTools.set(span.facts.toolCallId, span);
    }
    this.#open.clear();
  }

  #log(event: Of<"log">, at: number): void {
    const step = event.attributes?.step;
    this.logs.push({ index: event.eventIndex, at, stamp: event.timestamp, level: event.level, message: event.message, attributes: event.attributes, ofStep: step !== undefined });
    if (step) this.#step(step, event.level === "error", at);
  }

  #step(step: Step, final: boolean, at: number): void {
    const span = this.#span(`step.${step.seq}`, "step", step.name, undefined);
    span.note ||= `step ${step.seq + 1}`;
    span.facts.attempts = Math.max(span.facts.attempts ?? 0, step.attempt);
    switch (step.state) {
      case "started": return void this.#begin(span, at, step.attempt);
      case "finished": return this.#close(span, at, step.durationMs ?? 0, false, undefined, undefined, step.attempt);
      case "failed":
        this.#close(span, at, step.durationMs ?? 0, true, undefined, undefined, step.attempt);
        // It will be tried again: no failure yet, and not at work either.
        if (!final) span.state = "open";
        return;
      case "kept":
        span.kept.push(at);
        span.state = span.bars.at(-1)?.state === "failed" ? "failed" : "kept";
    }
  }

  #operation(event: Of<"operation_start"> | Of<"operation">): Span {
    const known = this.spans.get(event.operationId);
    if (known) return known;
    const parent = this.#taskOf(event);
    const cut = (parent?.children ?? this.roots).findLast((each) => each.kind === "operation");
    const span = this.#span(event.operationId, "operation", event.operationKind, parent);
    span.facts.operationId = event.operationId;
    if (cut?.state === "interrupted" && cut.name === span.name) this.#again(span, cut);
    return span;
  }

  // A prompt that an interruption cut is repeated as another operation, which does not say again what was asked.
  #again(span: Span, cut: Span): void {
    Object.assign(span, { note: cut.note, input: cut.input });
    span.facts.attempts = (cut.facts.attempts ?? 1) + 1;
  }

  #turn(event: { turnId: string; purpose?: string; operationId?: string; taskId?: string }): Span {
    const known = this.spans.get(event.turnId);
    if (known) return known;
    const parent = this.#parentOf(event);
    const nth = (parent?.children ?? this.roots).filter((each) => each.kind === "turn").length + 1;
    const span = this.#span(event.turnId, "turn", event.purpose?.startsWith("compaction") ? `summary ${nth}` : `turn ${nth}`, parent);
    span.facts.turnId = event.turnId;
    return span;
  }

  #turned(event: Of<"turn">, at: number): void {
    const { request, response } = event;
    const span = this.#turn(event);
    const model = textOf(response["responseModel"]) ?? textOf(request["requestedModel"]);
    const provider = textOf(request["providerId"]);
    if (model) this.#named(span, provider && !model.startsWith(`${provider}/`) ? `${provider}/${model}` : model);
    span.facts.finishReason = textOf(response["finishReason"]);
    this.#spend(span, response["usage"]);
    this.#close(span, at, event.durationMs, event.isError, response["error"], saidOf(response["output"])?.text || undefined);
  }

  #spend(span: Span, usage: unknown): void {
    if (!isObject(usage)) return;
    span.facts.tokens = numberOf(usage["totalTokens"]);
    span.facts.cost = isObject(usage["cost"]) ? numberOf(usage["cost"]["total"]) : undefined;
    this.tokens += span.facts.tokens ?? 0;
    this.cost += span.facts.cost ?? 0;
  }

  // What a message says of other spans: the model of its turn, the inputs of the tools that it asks for, the prompt of its operation.
  #message(event: Of<"message_start"> | Of<"message_end">): void {
    const said = saidOf(event.message);
    if (!said) return;
    const turn = event.turnId ? this.spans.get(event.turnId) : undefined;
    if (said.role === "assistant" && turn && said.model) this.#named(turn, said.model);
    if (said.role === "assistant" && turn && event.type === "message_end") turn.output ??= said.text || undefined;
    for (const call of said.calls) this.#calls.set(callKey(event, call.id), { input: call.input, turn });
    const operation = event.operationId ? this.spans.get(event.operationId) : undefined;
    if (said.role !== "user" || !operation || operation.note) return;
    operation.note = firstLine(said.text);
    operation.input = said.text;
  }

  #named(turn: Span, model: string): void {
    turn.facts.model = model;
    turn.note ||= model;
  }

  #text(event: Of<"text_delta">, at: number): void {
    const turn = event.turnId ? this.spans.get(event.turnId) : undefined;
    if (turn) turn.firstText ??= at;
  }

  // An id that a model uses again in the same operation is another call.
  #tool(event: Of<"tool_start"> | Of<"tool">, starts: boolean): Span {
    const base = `${event.operationId ?? ""}.${event.toolCallId}`;
    let id = base;
    for (let again = 2; this.spans.has(id) && (starts || !this.#open.has(this.spans.get(id)!)); again++) {
      const next = `${base}.${again}`;
      if (!starts && !this.spans.has(next)) break;
      id = next;
    }
    const asked = this.#calls.get(callKey(event, event.toolCallId));
    const span = this.#span(id, "tool", event.toolName, this.#parentOf(event));
    span.facts.toolCallId = event.toolCallId;
    if (asked && span.input === undefined) {
      span.input = asked.input;
      span.note ||= argumentOf(asked.input);
      span.facts.askedBy = asked.turn;
    }
    return span;
  }

  #tooled(event: Of<"tool">, at: number): void {
    const told = resultText(event.result);
    const cut = this.#cutTools.get(event.toolCallId);
    if (cut) return this.#resumed(cut, event, told);
    const cause = event.isError ? { name: codeOf(event.result) ?? "Failed", message: told || "The tool failed." } : undefined;
    this.#close(this.#tool(event, false), at, event.durationMs, event.isError, cause, told || event.result);
  }

  // After a restart an operation settles the tools that were cut: one had finished, of another nobody knows, and none runs again.
  #resumed(span: Span, event: Of<"tool">, told: string): void {
    this.#cutTools.delete(event.toolCallId);
    span.output = told || event.result;
    const bar = span.bars.at(-1);
    if (event.isError || !bar) return;
    Object.assign(bar, { to: bar.from + event.durationMs, state: "done" });
    span.state = "done";
  }

  // A turn that asked no model, but settled the tools of one that was cut, is told by its messages alone.
  #settled(event: Of<"turn_messages">, at: number): void {
    const turn = this.spans.get(event.turnId);
    const bar = turn?.bars.at(-1);
    if (!turn || !bar || bar.to !== undefined) return;
    turn.note ||= "settled its tools";
    this.#close(turn, at, at - bar.from, false, undefined, undefined);
  }

  #task(event: Of<"task_start"> | Of<"task">): Span {
    const operation = event.operationId ? this.spans.get(event.operationId) : undefined;
    const span = this.#span(event.taskId, "task", "task", operation && !within(operation, event.taskId) ? operation : undefined);
    span.facts.taskId = event.taskId;
    span.note ||= event.agent ?? "";
    return span;
  }

  #tasked(event: Of<"task_start">, at: number): void {
    const span = this.#task(event);
    span.input = event.prompt;
    span.note ||= firstLine(event.prompt);
    this.#begin(span, at);
  }

  #compaction(event: Of<"compaction_start"> | Of<"compaction">, starts: boolean): Span {
    const parent = this.#parentOf(event);
    const open = [...this.#open].find((span) => span.kind === "compaction" && span.parent === parent);
    if (!starts && open) return open;
    const span = this.#span(`compaction.${event.eventIndex}`, "compaction", "compaction", parent);
    if (event.type === "compaction_start") span.note = event.reason;
    return span;
  }

  #taskOf(event: { taskId?: string }): Span | undefined {
    return event.taskId ? this.spans.get(event.taskId) : undefined;
  }

  #parentOf(event: { operationId?: string; taskId?: string }): Span | undefined {
    const operation = event.operationId ? this.spans.get(event.operationId) : undefined;
    return operation ?? this.#taskOf(event);
  }

  #span(id: string, kind: Kind, name: string, parent: Span | undefined): Span {
    const known = this.spans.get(id);
    if (known) return known;
    const facts: Facts = {};
    const span: Span = { id, kind, parent, children: [], name, note: "", bars: [], kept: [], state: "open", cause: undefined, firstText: undefined, input: undefined, output: undefined, facts };
    this.spans.set(id, span);
    (parent?.children ?? this.roots).push(span);
    return span;
  }

  #begin(span: Span, at: number, attempt?: number): void {
    span.bars.push({ from: at, to: undefined, state: "open", attempt });
    span.state = "open";
    this.#open.add(span);
  }

  #close(span: Span, at: number, took: number, isError: boolean, error: unknown, output: unknown, attempt?: number): void {
    const state: State = isError ? "failed" : "done";
    const open = span.bars.at(-1);
    if (open && open.to === undefined) Object.assign(open, { to: open.from + took, state });
    else span.bars.push({ from: Math.max(0, at - took), to: at, state, attempt } satisfies Bar);
    span.state = state;
    this.#open.delete(span);
    if (output !== undefined) span.output = output;
    if (!isError) return void (span.cause = undefined);
    span.cause = causeOf(error);
    this.#lastFailed = span;
  }
}

/** Folded is what a timeline is drawn of: a run, or another piece of work that was folded into spans. */
export type Folded = Pick<Fold, "spans" | "roots" | "bands" | "logs" | "startedAt" | "duration" | "cause" | "last">;

/** foldRun is the fold of a whole run. */
export function foldRun(events: readonly RunEvent[], startedAt?: string): Fold {
  const fold = new Fold(startedAt);
  for (const event of events) fold.add(event);
  return fold;
}

function causeOf(error: unknown): Cause | undefined {
  if (!isObject(error)) return typeof error === "string" ? { name: "Failed", message: error } : undefined;
  const name = textOf(error["code"]) ?? textOf(error["name"]) ?? textOf(error["type"]) ?? "Error";
  return { name, message: textOf(error["message"]) ?? "No reason was given." };
}

function failure(result: unknown): Cause | undefined {
  return typeof result === "string" && result ? { name: "Failed", message: result } : undefined;
}

/** codeOf is the fixed name of a tool's failure, where it has one. */
function codeOf(result: unknown): string | undefined {
  const details = isObject(result) ? result["details"] : undefined;
  return isObject(details) ? textOf(details["code"]) ?? textOf(details["type"]) : undefined;
}

function callKey(event: { operationId?: string }, id: string): string {
  return `${event.operationId ?? ""} ${id}`;
}

/** within reports whether a span belongs to a task, which cannot then be below it. */
function within(span: Span, taskId: string): boolean {
  for (let above: Span | undefined = span; above; above = above.parent) if (above.facts.taskId === taskId) return true;
  return false;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
