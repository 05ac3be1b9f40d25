import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { Refusal, Trouble } from "../kit/Refusal";
import { StatusTag, type Status } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import { useList } from "../server/read";
import type { AgentFacts } from "./agent";
import { useGo } from "./place";

const statuses: Record<string, Status | undefined> = { running: "running", waiting: "waiting", failed: "failed" };

/** AgentConversations are what was said to an agent, the last used first. */
export function AgentConversations({ agent, current }: { agent: AgentFacts; current: string | undefined }): ReactNode {
  const list = useList("/api/workspaces/{username}/{business}/agents/{name}/conversations", { path: { name: agent.name }, every: 10_000 });
  const go = useGo();
  if (!list.items) return list.error ? <Refusal error={list.error} onRetry={list.retry} /> : <div className="talks wait" role="status" aria-label="Loading conversations"><span className="skeleton" /><span className="skeleton" /></div>;
  if (list.items.length === 0) return <Empty icon="chat" title="Nobody has talked to it yet" act={<Button onClick={() => go(agent.name, { part: "try" })}>Try it</Button>} />;
  return (
    <div className="body">
      {list.error && <Trouble error={list.error} stale onRetry={list.retry} />}
      <ul className="talks" aria-label={`Conversations of ${agent.name}`}>
        {list.items.map((talk) => {
          const status = statuses[talk.state];
          return (
            <li key={talk.instance}>
              <button type="button" className="pick bare-pick" aria-current={talk.instance === current ? "true" : undefined} onClick={() => go(agent.name, { talk: talk.instance })}>
                <b className="trunc">{talk.title || talk.instance}</b>
                {status ? <StatusTag status={status} /> : <span />}
                <small className="trunc mono">{talk.instance}</small>
                <small className="num"><Time at={talk.usedAt} quiet /></small>
              </button>
            </li>
          );
        })}
      </ul>
      {list.hasMore && <div className="more"><Button small busy={list.loadingMore} onClick={list.more}>Load more</Button></div>}
    </div>
  );
}
