import { abort, attachmentUrl, history, send, submissions, wait } from "./agents.js";
import type { AbortOptions, Admission, AskOptions, Reply, SendOptions, WaitOptions } from "./agents.js";
import { api, type Api } from "./api.js";
import { connect, type ClientOptions, type Connection } from "./connection.js";
import { observe, type Observation, type ObserveOptions } from "./observe.js";
import { getRun, listRuns, runEvents, streamRun } from "./runs.js";
import type { EventsOptions, ListRunsOptions, RunPage, RunStream, RunStreamOptions } from "./runs.js";
import type { Conversation, Run, RunEvent, Submission } from "./types.js";
import { invoke, run } from "./workflows.js";
import type { InvokeOptions, RunOptions } from "./workflows.js";

/** Client is every verb of this package, by its noun. A program that counts bytes imports single verbs instead. */
export interface Client {
  readonly connection: Connection;
  readonly agents: {
    send(name: string, id: string, options: SendOptions): Promise<Admission>;
    wait(admission: Admission, options?: WaitOptions): Promise<Reply>;
    abort(name: string, id: string, options?: AbortOptions): Promise<{ aborted: boolean }>;
    history(name: string, id: string, options?: AskOptions): Promise<Conversation>;
    observe(name: string, id: string, options?: ObserveOptions): Observation;
    submissions(name: string, id: string, options?: AskOptions): Promise<Submission[]>;
    attachmentUrl(name: string, id: string, attachmentId: string): string;
  };
  readonly workflows: {
    invoke(name: string, options?: InvokeOptions): Promise<{ runId: string }>;
    invoke<Result = unknown>(name: string, options: InvokeOptions & { wait: "result" }): Promise<{ runId: string; result: Result }>;
    run<Result = unknown>(name: string, options?: RunOptions): Promise<{ runId: string; result: Result }>;
  };
  readonly runs: {
    get<Result = unknown>(runId: string, options?: AskOptions): Promise<Run<Result>>;
    events(runId: string, options?: EventsOptions): Promise<RunEvent[]>;
    stream(runId: string, options?: RunStreamOptions): RunStream;
    list(options?: ListRunsOptions): Promise<RunPage>;
  };
  readonly api: Api;
}

/** createClient binds every verb to one service. */
export function createClient(options: ClientOptions): Client {
  const c = connect(options);
  return {
    connection: c,
    agents: {
      send: (name, id, options) => send(c, name, id, options),
      wait: (admission, options) => wait(c, admission, options),
      abort: (name, id, options) => abort(c, name, id, options),
      history: (name, id, options) => history(c, name, id, options),
      observe: (name, id, options) => observe(c, name, id, options),
      submissions: (name, id, options) => submissions(c, name, id, options),
      attachmentUrl: (name, id, attachmentId) => attachmentUrl(c, name, id, attachmentId),
    },
    workflows: {
      invoke: (name: string, options?: InvokeOptions): Promise<never> => invoke(c, name, options) as Promise<never>,
      run: (name, options) => run(c, name, options),
    },
    runs: {
      get: (runId, options) => getRun(c, runId, options),
      events: (runId, options) => runEvents(c, runId, options),
      stream: (runId, options) => streamRun(c, runId, options),
      list: (options) => listRuns(c, options),
    },
    api: api(c),
  };
}
