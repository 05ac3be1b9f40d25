import type { ReactNode } from "react";
import "../look/storage.css";
import { Icon } from "../kit/Icon";
import { bytes } from "../kit/amount";
import { Refusal, Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import { useRead } from "../server/read";
import { Page } from "../shell/Page";
import { kindsOf, stateOf, type Storage } from "./storage";

/** StoragePage says how full the workspace is, and of what. */
export function StoragePage(): ReactNode {
  const { data, error, refetch } = useRead("/api/workspaces/{username}/{business}/storage", { every: 30_000 });
  const state = data && stateOf(data);
  return (
    <Page title="Storage" beside={state && <Tag tone={state.tone}>{state.word}</Tag>}>
      {error && data && <Trouble error={error} stale onRetry={() => void refetch()} />}
      {state?.advice && (
        <div className={`banner ${state.tone === "bad" ? "bad" : "warn"}`} role="status">
          <Icon name="warn" />
          <p>{state.advice}</p>
        </div>
      )}
      <div className="body pad">
        {data ? <Figures storage={data} /> : error ? <Refusal error={error} onRetry={() => void refetch()} /> : <Loading />}
      </div>
    </Page>
  );
}

function Figures({ storage }: { storage: Storage }): ReactNode {
  const kinds = kindsOf(storage);
  const share = (part: number): number => (storage.limitBytes > 0 ? (part / Math.max(storage.limitBytes, storage.usedBytes + storage.reservedBytes)) * 100 : 0);
  const percent = storage.limitBytes > 0 ? Math.round((storage.usedBytes / storage.limitBytes) * 100) : 100;
  return (
    <div className="store">
      <p className="total">
        <b>{bytes(storage.usedBytes)}</b>
        <span className="dim">of {bytes(storage.limitBytes)} used</span>
      </p>
      <div className="whole" role="meter" aria-label="Storage used" aria-valuenow={Math.min(100, percent)} aria-valuemin={0} aria-valuemax={100} aria-valuetext={`${percent} percent`}>
        {kinds.filter((kind) => kind.bytes > 0).map((kind) => (
          <i key={kind.name} className={kind.tone} style={{ width: `${share(kind.bytes)}%` }} />
        ))}
      </div>
      <section className="card" aria-labelledby="kinds">
        <header className="spaced">
          <h2 id="kinds">What takes it</h2>
        </header>
        <ul className="kinds">
          {kinds.map((kind) => (
            <li key={kind.name}>
              <i className={`kd ${kind.tone}`} />
              <span>
                {kind.name}
                <small>{kind.note}</small>
              </span>
              <span className="num right">{bytes(kind.bytes)}</span>
              <span className="num right faint">{kind.bytes > 0 && share(kind.bytes) < 1 ? "< 1 %" : `${Math.round(share(kind.bytes))} %`}</span>
            </li>
          ))}
        </ul>
      </section>
      <p className="help">
        <span>
          Measured <Time at={storage.measuredAt} />. Owners are told by mail at {storage.softLimitPercent} %.
        </span>
      </p>
    </div>
  );
}

/** Loading is the page as it will stand. */
function Loading(): ReactNode {
  return (
    <div className="store wait" role="status" aria-label="Loading storage">
      <p className="total"><span className="skeleton wide" /></p>
      <div className="whole" />
      <section className="card">
        <header className="spaced"><h2><span className="skeleton short" /></h2></header>
        <ul className="kinds">
          {[0, 1, 2, 3].map((row) => (
            <li key={row}><i className="kd" /><span className="skeleton short" /><span className="skeleton" /><span /></li>
          ))}
        </ul>
      </section>
    </div>
  );
}
