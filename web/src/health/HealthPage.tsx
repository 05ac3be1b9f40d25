import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import "../look/health.css";
import { bytes, count, lasting } from "../kit/amount";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { relative, useNow } from "../kit/Time";
import { useRead } from "../server/read";
import { RotationCard } from "../secretstore/RotationCard";
import { Page } from "../shell/Page";
import { checkName, migrationsOf, skewOf, stateOf, versionOf, type Health } from "./health";

/** How often the service is asked while the page is seen, in milliseconds. */
const every = 10_000;

/** HealthPage is how the service does: what is wrong stands first, and each check says what it knows. */
export function HealthPage(): ReactNode {
  const { data: health, error, refetch, isFetching, dataUpdatedAt } = useRead("/api/admin/health", { every });
  const now = useNow(1_000);
  const checked = dataUpdatedAt ? `checked ${relative(new Date(dataUpdatedAt), now)}` : "";
  const acts = (
    <>
      <span className="faint t12 num desk">{checked}</span>
      <Button icon="redo" className="desk" busy={isFetching && !health} onClick={() => void refetch()}>Check now</Button>
    </>
  );
  return (
    <Page title="Service health" state={health && !health.ready ? "failed" : undefined} beside={health && <Tag tone={stateOf(health).tone}>{stateOf(health).word}</Tag>} acts={acts}>
      {error && health && <Trouble error={error} stale onRetry={() => void refetch()} />}
      {error && !health && <Refusal error={error} onRetry={() => void refetch()} />}
      {health ? <Figures health={health} /> : !error && <Shape />}
    </Page>
  );
}

function Figures({ health }: { health: Health }): ReactNode {
  return (
    <div className="body pad health">
      <Stats health={health} />
      <div className="two">
        <div className="stack">
          <Nodes health={health} />
          <Tables health={health} />
        </div>
        <div className="stack">
          <Readiness health={health} />
          <Database health={health} />
          <RotationCard />
        </div>
      </div>
    </div>
  );
}

function Stats({ health }: { health: Health }): ReactNode {
  const now = useNow();
  const up = now.getTime() - Date.parse(health.startedAt);
  const held = health.nodes.reduce((all, node) => all + node.working, 0);
  const queue = health.queue;
  const stats: [string, ReactNode, ReactNode][] = [
    ["Nodes", count(health.nodes.length || 1), health.nodes.length > 1 ? "connected to the database" : "this one"],
    ["Oldest in queue", queue ? (queue.waiting > 0 ? lasting(queue.oldestMs) : "Empty") : "Unknown", queue ? `${count(queue.waiting)} waiting, ${count(held)} in work` : "the database did not say"],
    ["Open streams", count(health.streams), "on this node"],
    ["Clock", Math.abs(health.clockAheadMs) < 1_000 ? `${-health.clockAheadMs} ms` : lasting(Math.abs(health.clockAheadMs)), skewOf(health.clockAheadMs)],
    ["Version", versionOf(health.build.version), `up ${lasting(Math.max(0, up))}`],
  ];
  return (
    <dl className="stats">
      {stats.map(([name, value, about]) => (
        <div key={name} className="stat">
          <dt>{name}</dt>
          <dd className="trunc">{value}</dd>
          <dd className="about">{about}</dd>
        </div>
      ))}
    </dl>
  );
}

const parts: Record<string, string> = { serve: "Gateway and runtime", gateway: "Gateway", runtime: "Runtime" };

function Nodes({ health }: { health: Health }): ReactNode {
  return (
    <section className="card" aria-label="Nodes">
      <header>
        <h2>Nodes</h2>
        <span className="faint t12">connected now</span>
      </header>
      <table>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Does</th>
            <th scope="col" className="right">In work</th>
          </tr>
        </thead>
        <tbody>
          {health.nodes.map((node) => (
            <tr key={node.part + node.node}>
              <td>
                <b className="mono">{node.node}</b>
                {node.node === health.node && <small>answers this page</small>}
              </td>
              <td>
                {parts[node.part] ?? node.part}
                {node.project && <small className="mono">project {node.project.slice(0, 12)}</small>}
              </td>
              <td className="num right">{count(node.working)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {health.nodes.length === 0 && <p className="faint t13 pad">The database did not say who is connected.</p>}
    </section>
  );
}

function Readiness({ health }: { health: Health }): ReactNode {
  return (
    <section className="card checks" aria-label="Readiness">
      <header>
        <h2>Readiness</h2>
        <span className="faint t12">of this node</span>
      </header>
      <ul>
        {health.checks.map((check) => (
          <li key={check.name}>
            <Icon name={check.ok ? "check" : "warn"} small className={check.ok ? "ok" : "bad"} />
            <span>
              {checkName(check.name)}
              <span className="sr">{check.ok ? ": well" : ": failing"}</span>
              {check.error && <small className="bad">{check.error}</small>}
            </span>
            {check.detail && <span className="num">{check.detail}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const kinds: Record<string, string> = { sqlite: "SQLite", postgres: "PostgreSQL" };

function Database({ health }: { health: Health }): ReactNode {
  const { kind, bytes: size, tables } = health.database;
  const migrations = migrationsOf(tables);
  return (
    <section className="card" aria-label="Database">
      <header>
        <h2>Database</h2>
        {kind && <Tag tone="ok">{kinds[kind] ?? kind}</Tag>}
      </header>
      <dl className="figs num">
        <div>
          <dt>Size</dt>
          <dd>{size > 0 ? bytes(size) : "Unknown"}</dd>
        </div>
        <div>
          <dt>Migrated</dt>
          <dd>{`${migrations.done} of ${migrations.all} rooms`}</dd>
        </div>
      </dl>
    </section>
  );
}

/** Tables are the rooms whose tables are not as this binary knows them; most of the time there are none. */
function Tables({ health }: { health: Health }): ReactNode {
  const apart = health.database.tables.filter((room) => room.database !== room.binary);
  return (
    <section className="card checks" aria-label="Build">
      <header>
        <h2>Build</h2>
        <Link className="link t13" to="/audit">Audit</Link>
      </header>
      <ul>
        <li>
          <Icon name="hash" small className="dim" />
          <span>Revision</span>
          <span className="num mono">{health.build.revision.slice(0, 12) || "unknown"}</span>
        </li>
        <li>
          <Icon name="chip" small className="dim" />
          <span>Go</span>
          <span className="num">{health.build.go}</span>
        </li>
        {apart.map((room) => (
          <li key={room.room}>
            <Icon name="warn" small className="warn" />
            <span>{room.database < room.binary ? `The tables of ${room.room} are older than this binary` : `A newer node has migrated ${room.room}`}</span>
            <span className="num">{`${room.database} of ${room.binary}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Shape(): ReactNode {
  return (
    <div className="body pad health wait" role="status" aria-label="Loading health">
      <span className="skeleton block" style={{ height: 92 }} />
      <div className="two">
        <span className="skeleton block" style={{ height: 240 }} />
        <span className="skeleton block" style={{ height: 240 }} />
      </div>
    </div>
  );
}
