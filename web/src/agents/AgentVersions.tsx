import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { Time } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useList, useRead } from "../server/read";
import { usePath } from "../shell/where";
import type { AgentFacts } from "./agent";
import { Difference } from "./Difference";
import { usePeopleNames } from "./people";
import { useGo } from "./place";
import { useSaved } from "./saved";

/** AgentVersions is what an agent was: every save, and what has changed since. */
export function AgentVersions({ agent, version, why }: { agent: AgentFacts; version: string | undefined; why: string | undefined }): ReactNode {
  const list = useList("/api/workspaces/{username}/{business}/agents/{name}/versions", { path: { name: agent.name }, query: { limit: 50 } });
  const nameOf = usePeopleNames();
  const path = usePath();
  return (
    <div className={version === undefined ? "past" : "past looking"}>
      <nav className="picks" aria-label="Versions">
        {list.error && list.items && <Trouble error={list.error} stale onRetry={list.retry} />}
        {!list.items && (list.error ? <Refusal error={list.error} onRetry={list.retry} /> : <p className="pick wait" role="status" aria-label="Loading versions"><span className="skeleton" /></p>)}
        {list.items?.map((each) => (
          <Link key={each.version} className="pick" to={path(`agents/${agent.name}/versions/${each.version}`)} aria-current={String(each.version) === version ? "true" : undefined}>
            <b>v{each.version}</b>
            {each.version === agent.version ? <span className="st ok"><span className="dot" />Now</span> : <span />}
            <small className="trunc">{each.createdAt ? nameOf(each.createdBy) : "came with the service"}</small>
            <small className="num">{each.createdAt && <Time at={each.createdAt} quiet />}</small>
          </Link>
        ))}
        {list.hasMore && <div className="more"><Button small busy={list.loadingMore} onClick={list.more}>Load more</Button></div>}
      </nav>
      {version === undefined ? <p className="help body pad desk">Choose a version to see what has changed since.</p> : <Version key={version} agent={agent} version={version} why={why} />}
    </div>
  );
}

/** Version is one of them beside the present one. */
function Version({ agent, version, why }: { agent: AgentFacts; version: string; why: string | undefined }): ReactNode {
  const where = { name: agent.name, version };
  const past = useRead("/api/workspaces/{username}/{business}/agents/{name}/versions/{version}", { path: where });
  // The answer is of the version that is the present one when it is asked.
  const diff = useRead("/api/workspaces/{username}/{business}/agents/{name}/versions/{version}/diff", { path: where, query: { with: String(agent.version) } });
  const restore = useAct("post", "/api/workspaces/{username}/{business}/agents/{name}/versions/{version}/restore");
  const nameOf = usePeopleNames();
  const toast = useToast();
  const saved = useSaved();
  const go = useGo();
  const now = String(agent.version) === version;
  const error = past.error ?? diff.error;
  if (error && !past.data) return <Refusal error={error} onRetry={() => void Promise.all([past.refetch(), diff.refetch()])} />;
  const act = async (): Promise<void> => {
    const done = await restore.run({ path: where, version: agent.version });
    if (!done) return;
    saved(done.answer);
    toast({ tone: "ok", text: `v${done.answer.version} says what v${version} said. Work in flight stays on v${agent.version}.` });
    go(agent.name);
  };
  return (
    <div className="body pad version">
      <header>
        <Button look="ghost" icon="left" label="Back to the versions" className="mobile" onClick={() => go(agent.name, { part: "versions" })} />
        <h2>{now ? `v${version}, the present one` : `v${version} → v${agent.version}`}</h2>
        <span className="grow faint t12 trunc">{past.data?.createdAt && <>saved <Time at={past.data.createdAt} quiet /> by {nameOf(past.data.createdBy)}</>}</span>
        {!now && <Button icon="redo" busy={restore.busy} why={why ?? (diff.data?.fields.length === 0 ? "Both say the same." : undefined)} onClick={() => void act()}>Restore as v{agent.version + 1}</Button>}
      </header>
      {restore.error && <Trouble error={restore.error} />}
      {!now && (diff.data ? <Difference changes={diff.data.fields} /> : !diff.error && <span className="skeleton wait" />)}
      {past.data && (
        <details open={now}>
          <summary><Icon name="rightc" small /> All of v{version}</summary>
          <pre tabIndex={0} className="code instructions" aria-label={`Instructions of v${version}`}>{past.data.instructions || "No instructions."}</pre>
          <dl className="kv">
            <dt>Model</dt><dd>{past.data.model || "the workspace's default"}</dd>
            <dt>Tools</dt><dd>{past.data.tools.join(", ") || "none"}</dd>
            {past.data.mcps.length > 0 && <><dt>MCP servers</dt><dd>{past.data.mcps.join(", ")}</dd></>}
            {past.data.projects.length > 0 && <><dt>Projects</dt><dd>{past.data.projects.join(", ")}</dd></>}
            <dt>Exposed</dt><dd>{past.data.exposed ? "yes" : "no"}</dd>
          </dl>
        </details>
      )}
    </div>
  );
}
