import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Time } from "../kit/Time";
import { useList } from "../server/read";
import { changesOf, type AgentFacts } from "./agent";
import type { Draft } from "./draft";
import { usePeopleNames } from "./people";

export interface VersionBarProps {
  agent: AgentFacts;
  draft: Draft | undefined;
  busy: boolean;
  why: string | undefined;
  /** Somebody saved meanwhile: what is theirs comes first. */
  conflict: boolean;
  onDiff: () => void;
  onSave: () => void;
}

/** VersionBar says which version is the present one, by whom, and what a save would make. */
export function VersionBar({ agent, draft, busy, why, conflict, onDiff, onSave }: VersionBarProps): ReactNode {
  const versions = useList("/api/workspaces/{username}/{business}/agents/{name}/versions", { path: { name: agent.name }, query: { limit: 50 } });
  const nameOf = usePeopleNames();
  const now = versions.items?.find((each) => each.version === agent.version);
  const changes = draft ? changesOf(draft.base, draft.mine).length : 0;
  const reason = why ?? (conflict ? "Somebody saved meanwhile: choose first." : draft ? undefined : "Nothing has changed.");
  return (
    <div className="vbar">
      <span className="tag now">v{agent.version}</span>
      <span className="grow trunc">
        {now?.createdAt ? <>saved <Time at={now.createdAt} quiet /> by {nameOf(now.createdBy)}</> : agent.updatedAt ? <>saved <Time at={agent.updatedAt} quiet /></> : "as it came with the service"}
        {changes > 0 && <span className="desk"> · {changes === 1 ? "1 change" : `${changes} changes`}</span>}
      </span>
      {draft && <button type="button" className="link bare" onClick={onDiff}>Diff</button>}
      <Button look="primary" small busy={busy} why={reason} onClick={onSave}>
        {draft ? `Save as v${agent.version + 1}` : "Saved"}
      </Button>
    </div>
  );
}
