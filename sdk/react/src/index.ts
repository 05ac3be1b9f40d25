"use client";
export { SvcProvider, useAgent, useClient, useRun, useWorkflow } from "./hooks.js";
export type { SvcProviderProps, UseAgentOptions, UseRunOptions, Workflow } from "./hooks.js";
export type { Agent, AgentStatus } from "./agent.js";
export type { AgentMessage, Pending, PendingState, Sending, Since, Unsent } from "./message.js";
export type { RunPhase, RunState, RunStatus } from "./run.js";
