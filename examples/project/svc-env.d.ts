// What svc gives to the modules of a project. Written by svc init, which renews it.
declare module "@svc/runtime" {
  import type { Context as HonoContext, MiddlewareHandler } from "hono";

  /** A schema of any library that follows Standard Schema, such as Valibot or Zod. */
  interface Schema<In = any, Out = any> {
    readonly "~standard": { readonly version: 1; readonly vendor: string; readonly validate: (value: unknown) => any; readonly types?: { readonly input: In; readonly output: Out } | undefined };
  }
  type Given<S> = S extends Schema<infer In, any> ? In : never;
  type Parsed<S> = S extends Schema<any, infer Out> ? Out : never;
  /** What a function returns whose result a schema checks; anything that has JSON where there is none. */
  type Returned<S> = S extends Schema ? Given<S> : unknown;
  type WithInput<S> = S extends Schema ? { readonly input: Parsed<S> } : {};

  /** Decides who passes: answers itself, or calls next. */
  export type AgentRouteHandler = MiddlewareHandler<any>;
  export type WorkflowRouteHandler = MiddlewareHandler<any>;
  export type WorkflowRunsHandler = MiddlewareHandler<any>;

  export interface Tool { readonly name: string; readonly description: string }
  /** A tool that a model may call. Its input is checked before run is called, its output after. */
  export function defineTool<const I extends Schema | undefined = undefined, const O extends Schema | undefined = undefined>(tool: {
    name: string;
    description: string;
    input?: I;
    output?: O;
    /** How long a call may take. Defaults to 2 minutes. */
    timeoutMs?: number;
    run(call: { readonly signal: AbortSignal } & WithInput<I>): Returned<O> | Promise<Returned<O>>;
  }): Tool;

  export interface AgentProfile {
    name?: string;
    description?: string;
    /** provider/model */
    model?: string;
    instructions?: string;
    tools?: readonly Tool[];
    subagents?: readonly AgentProfile[];
    thinkingLevel?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh";
    durability?: { maxAttempts?: number; timeoutMs?: number };
  }
  export interface AgentConfig extends Omit<AgentProfile, "name"> {
    /** What this configuration is based on. Lists add up. */
    profile?: AgentProfile;
  }
  export interface Agent { readonly initialize: unknown }
  /** An agent. The function is asked whenever an instance is worked on. */
  export function defineAgent(initialize: (instance: { readonly id: string; readonly env: Readonly<Record<string, string | undefined>> }) => AgentConfig | Promise<AgentConfig>): Agent;
  export function defineAgentProfile(profile: AgentProfile): AgentProfile;

  /** Milliseconds, or a text such as "5m". */
  export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;
  export interface StepOptions {
    /** Tells steps of one name apart that are begun together. */
    key?: string;
    timeout?: Duration;
    /** The result is on disk before step returns: for what must not be done twice. */
    durable?: boolean;
    retry?: { attempts?: number; delay?: Duration; factor?: number; maxDelay?: Duration };
  }
  type StepBody<T> = (attempt: { readonly signal: AbortSignal; readonly attempt: number }) => T | Promise<T>;
  /** Does something once: its result is recorded, and read when the run is resumed. */
  export interface Step {
    <T>(name: string, body: StepBody<T>): Promise<T>;
    <T>(name: string, options: StepOptions, body: StepBody<T>): Promise<T>;
  }
  export interface Log {
    info(message: string, attributes?: Record<string, unknown>): void;
    warn(message: string, attributes?: Record<string, unknown>): void;
    error(message: string, attributes?: Record<string, unknown>): void;
  }
  export interface Answer { readonly text: string; readonly usage: unknown; readonly model: { readonly provider: string; readonly id: string } }
  export interface Session {
    readonly name: string;
    prompt(text: string, options?: { model?: string }): Promise<Answer>;
    prompt<S extends Schema>(text: string, options: { result: S; model?: string }): Promise<{ readonly data: Parsed<S> } & Omit<Answer, "text">>;
  }
  export interface Harness { readonly name: string; session(name?: string): Promise<Session> }
  export type Run<I = undefined> = { readonly runId: string; readonly step: Step; readonly sleep: (duration: Duration) => Promise<void>; readonly log: Log; readonly harness: Harness } & WithInput<I>;
  interface Action<I extends Schema | undefined, O extends Schema | undefined> { input?: I; output?: O; run(run: Run<I>): Returned<O> | Promise<Returned<O>> }
  export interface ActionDefinition<I = unknown> { readonly name: string; readonly input: I }
  export function defineAction<const I extends Schema | undefined = undefined, const O extends Schema | undefined = undefined>(action: { name: string; description: string } & Action<I, O>): ActionDefinition<I>;
  export interface Workflow<I = unknown> { readonly action: { readonly input: I } }
  /** A function that survives: what its steps have done is not done again. */
  export function defineWorkflow<const I extends Schema | undefined = undefined, const O extends Schema | undefined = undefined>(workflow: { agent?: Agent } & Action<I, O>): Workflow<I>;
  export function defineWorkflow<I>(workflow: { agent?: Agent; action: ActionDefinition<I> }): Workflow<I>;

  export type Message =
    | { kind: "user"; body: string; attachments?: { type: "image"; data: string; mimeType: string; filename?: string }[] }
    | { kind: "signal"; type: string; body: string; attributes?: Record<string, string>; tagName?: string };
  type Dispatch = { id: string; message: Message; /** makes it happen once */ key?: string };
  type Dispatched = { readonly dispatchId: string; readonly acceptedAt: string };
  export function dispatch(agent: Agent | string, request: Dispatch): Promise<Dispatched>;
  export function dispatch(request: Dispatch & { agent: string }): Promise<Dispatched>;
  export function invoke<I>(workflow: Workflow<I>, ...request: I extends Schema ? [{ input: Given<I>; key?: string }] : [{ input?: undefined; key?: string }?]): Promise<{ readonly runId: string }>;
  export function invoke(workflow: string, request?: { input?: unknown; key?: string }): Promise<{ readonly runId: string }>;

  export interface RunPointer { readonly runId: string; readonly workflowName: string; readonly status: "active" | "completed" | "errored"; readonly startedAt: string; readonly endedAt?: string }
  export function listRuns(filter?: { status?: RunPointer["status"]; workflowName?: string; limit?: number; cursor?: string }): Promise<{ readonly runs: readonly RunPointer[]; readonly nextCursor?: string }>;
  export function getRun(runId: string): Promise<(RunPointer & { readonly input?: unknown; readonly result?: unknown; readonly error?: unknown }) | null>;
  export function listAgents(): Promise<readonly { readonly name: string; readonly description?: string; readonly transports: { readonly http?: true }; readonly defined: boolean }[]>;

  export interface Channel { routes: { method: string; path: string; handler(c: HonoContext<any>): Response | Promise<Response> }[] }

  /** A failure with a type for machines. Thrown in a workflow it is the error of the run. */
  export class SvcError extends Error {
    constructor(error: { type: string; message: string; details?: string; meta?: Record<string, unknown>; status?: number; cause?: unknown });
    readonly type: string;
    readonly details: string;
    readonly meta?: Record<string, unknown>;
    readonly status?: number;
  }
}
declare module "@svc/runtime/routing" {
  import type { Hono } from "hono";
  export interface Fetchable { fetch(request: Request, env?: unknown, ctx?: unknown): Response | Promise<Response> }
  /** The API as a sub-app, to be mounted where the application wants it. */
  export function svc(): Hono<any>;
  export default svc;
}
declare module "*.md" {
  const text: string;
  export default text;
}
declare const process: { readonly env: Readonly<Record<string, string | undefined>> };
