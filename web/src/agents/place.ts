import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { usePath } from "../shell/where";

/** Part is what a page of an agent shows beside its name. */
export type Part = "edit" | "try" | "versions" | "conversations";

/** AgentPlace is where one is among the agents, as the address says it. */
export interface AgentPlace {
  /** The agent that is shown; undefined: none is. */
  readonly name: string | undefined;
  readonly part: Part;
  /** The version that is looked at. */
  readonly version: string | undefined;
  /** The conversation in which the agent is tried. */
  readonly conversation: string | undefined;
  /** What a new agent begins with, by the name of a template; undefined: none is made. */
  readonly making: string | undefined;
  readonly filter: string;
}

/** placeIn reads an address: what stands behind `agents/`, and the query. */
export function placeIn(rest: string, search: Record<string, unknown>): AgentPlace {
  const [name, room, ...more] = rest.split("/").filter(Boolean);
  const id = more.join("/") || undefined;
  const said = String(search["part"] ?? "");
  const asked: Part = said === "try" || said === "versions" || said === "conversations" ? said : "edit";
  const conversation = search["try"] === undefined ? undefined : String(search["try"]);
  const part: Part = room === "versions" ? "versions" : conversation !== undefined && asked === "edit" ? "try" : asked;
  return {
    name,
    part,
    version: room === "versions" ? id : undefined,
    conversation,
    making: name === undefined && search["new"] !== undefined ? String(search["new"]) : undefined,
    filter: String(search["q"] ?? ""),
  };
}

/** usePlaceOfAgent is where one is, kept true. */
export function usePlaceOfAgent(): AgentPlace {
  const { _splat: rest = "" } = useParams({ strict: false }) as { _splat?: string };
  return placeIn(rest, useSearch({ strict: false }) as Record<string, unknown>);
}

/** Going is a step to another place among the agents. */
export interface Going {
  part?: Part;
  version?: number | string;
  /** The conversation in which the agent is tried, beside what is written of it. */
  conversation?: string;
  /** A conversation with the agent, as a page of its own. */
  talk?: string;
  replace?: boolean;
}

/** useGo goes to an agent, or to a part of it. */
export function useGo(): (name: string | undefined, going?: Going) => void {
  const navigate = useNavigate();
  const path = usePath();
  return useCallback(
    (name, { part, version, conversation, talk, replace = false } = {}) => {
      const rest = version !== undefined ? `/versions/${version}` : talk !== undefined ? `/conversations/${encodeURIComponent(talk)}` : "";
      const search = { ...(part && part !== "edit" && version === undefined && { part }), ...(conversation !== undefined && { try: conversation }) };
      void navigate({ to: path(name === undefined ? "agents" : `agents/${name}${rest}`), search: search as never, replace });
    },
    [navigate, path],
  );
}
