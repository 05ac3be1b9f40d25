import type { ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Tag, type Tone } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import type { ItemOf } from "../server/path";
import { useList } from "../server/read";
import { addressOf } from "../server/session";
import { Page } from "../shell/Page";
import { baseOf } from "../shell/where";

type Key = ItemOf<"/api/admin/keys">;

const states: Record<Key["state"], { tone: Tone; word: string }> = {
  live: { tone: "ok", word: "Live" },
  expired: { tone: "", word: "Expired" },
  suspended: { tone: "warn", word: "Suspended" },
  orphaned: { tone: "bad", word: "Nobody's" },
};

const columns: readonly Column<Key>[] = [
  {
    head: "Key",
    cell: (key) => (
      <>
        <b className="trunc">{key.name}</b>
        <small className="mono">{`${key.prefix}…${key.last4}`}</small>
      </>
    ),
  },
  { head: "State", phone: "end", cell: (key) => <Tag tone={key.revokedAt ? "" : states[key.state].tone}>{key.revokedAt ? "Revoked" : states[key.state].word}</Tag> },
  { head: "Workspace", cell: (key) => <span className="trunc">{key.scope.replace(/^users\//, "")}</span> },
  { head: "Made by", phone: "hide", cell: (key) => (key.staff ? <Tag tone="rust">staff</Tag> : <span className="dim">customer</span>) },
  { head: "Used", phone: "end", className: "dim num", cell: (key) => (key.lastUsedAt ? <Time at={key.lastUsedAt} quiet /> : "never") },
  { head: "Ends", phone: "hide", className: "dim num", cell: (key) => (key.expiresAt ? <Time at={key.expiresAt} quiet /> : "never") },
];

/** AllKeysPage is the API keys of all workspaces, for staff. A row leads to those of its workspace. */
export function AllKeysPage(): ReactNode {
  const search = useSearch({ strict: false }) as { q?: unknown };
  const q = search.q === undefined ? undefined : String(search.q) || undefined;
  const navigate = useNavigate();
  const list = useList("/api/admin/keys", { query: { q } });
  const open = (key: Key): void => {
    const at = addressOf(key.scope);
    if (at) void navigate({ to: `${baseOf(at)}/api` });
  };
  return (
    <Page title="API keys">
      <DataList
        label="API keys of all workspaces"
        list={list}
        columns={columns}
        keyOf={(key) => key.id}
        onOpen={open}
        onClear={q ? () => void navigate({ to: ".", search: {} as never, replace: true }) : undefined}
        empty={<Empty icon="key" title="There are no API keys yet">A workspace's keys are made on its API page.</Empty>}
      />
    </Page>
  );
}
