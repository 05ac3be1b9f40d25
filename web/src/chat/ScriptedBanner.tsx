import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { AgentMessage } from "@svc/react";
import { count } from "../kit/amount";
import { Icon } from "../kit/Icon";
import { useRead } from "../server/read";
import { usePath } from "../shell/where";
import { spentOf } from "./turns";

/** useModel is the model that will answer: the agent's own, else that of the workspace; and whether the service has said so yet. */
export function useModel(agent: string): { model: string | undefined; known: boolean } {
  const own = useRead("/api/workspaces/{username}/{business}/agents/{name}", { path: { name: agent } });
  const models = useRead("/api/workspaces/{username}/{business}/models");
  // What failed is pending when it is asked again: the conversation must not vanish for that long.
  const known = own.isFetched && models.isFetched;
  return { model: known ? own.data?.model || models.data?.default : undefined, known };
}

/** ScriptedBanner says that no real model answers, until one does. */
export function ScriptedBanner({ agent }: { agent: string }): ReactNode {
  const { model } = useModel(agent);
  const path = usePath();
  if (!model?.startsWith("scripted/")) return null;
  return (
    <div className="banner">
      <Icon name="info" />
      <p>
        Answers come from the <b>built-in scripted model</b>. It repeats words and reads nothing you write.
      </p>
      <Link className="btn sm" to={path("settings/models")}>Add a model key</Link>
    </div>
  );
}

/** SpentNote is what a conversation has cost. */
export function SpentNote({ messages }: { messages: readonly AgentMessage[] }): ReactNode {
  const { tokens, cost } = spentOf(messages);
  const facts = [tokens > 0 && `${count(tokens)} tokens`, cost > 0 && `$${cost.toFixed(3)}`].filter(Boolean);
  return facts.length > 0 && <span className="faint num t12 model-note">{facts.join(" · ")}</span>;
}

/** ModelNote is which model answers, and what the conversation has cost. */
export function ModelNote({ agent, messages }: { agent: string; messages: readonly AgentMessage[] }): ReactNode {
  const next = useModel(agent).model;
  const { tokens, cost, model } = spentOf(messages.filter((message) => message.role === "assistant"));
  const name = next ?? model;
  if (!name) return null;
  const facts = [name, name.startsWith("scripted/") ? "free" : undefined, tokens > 0 && `${count(tokens)} tokens`, cost > 0 && `$${cost.toFixed(3)}`];
  return <span className="faint desk num t12 model-note">{facts.filter(Boolean).join(" · ")}</span>;
}
