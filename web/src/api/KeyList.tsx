import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Tag } from "../kit/StatusTag";
import { Time, useNow } from "../kit/Time";
import type { Listing } from "../server/read";
import { useMay } from "../server/role";
import { useNames } from "../team/names";
import { expiryOf, shortOf, stateOf, type KeyItem } from "./key";

export interface KeyListProps {
  keys: Listing<KeyItem>;
  /** The key that was just made. */
  selected: string | undefined;
  onNew: () => void;
  onRotate: (key: KeyItem) => void;
  onRevoke: (key: KeyItem) => void;
  onClear: (() => void) | undefined;
}

/** KeyList is the keys of a workspace: whose they are, what they may, and until when. */
export function KeyList({ keys, selected, onNew, onRotate, onRevoke, onClear }: KeyListProps): ReactNode {
  const { why } = useMay("manage");
  const nameOf = useNames();
  const now = useNow();
  const columns: readonly Column<KeyItem>[] = [
    {
      head: "Key",
      cell: (of) => (
        <>
          <b>{of.name}</b> {of.kind === "device" && <span className="faint">device</span>} <State of={of} />
          <small>
            {of.staff ? <span className="by-staff">staff</span> : <span className="mono">{shortOf(of)}</span>}
            {(of.staff || nameOf(of.creator)) && ` · ${nameOf(of.creator) ?? "of this service"}`}
          </small>
        </>
      ),
    },
    { head: "Scopes", className: "dim t12 scopes", phone: "hide", cell: (of) => of.scopes.join(", ") },
    {
      head: "Last used",
      className: "dim",
      phone: "hide",
      cell: (of) => (
        <>
          {of.lastUsedAt ? <Time at={of.lastUsedAt} /> : "never"}
          <small>{of.lastUsedIp ?? <>made <Time at={of.createdAt} quiet /></>}</small>
        </>
      ),
    },
    {
      head: "Expires",
      phone: "end",
      cell: (of) => {
        const expiry = expiryOf(of, now);
        return (
          <>
            {expiry.on}
            <small className={expiry.tone}>{expiry.left}</small>
          </>
        );
      },
    },
    {
      head: "Acts",
      className: "acts",
      phone: "wide",
      cell: (of) => (
        <span className="row end tight">
          {of.state === "live" && !of.revokedAt && !of.staff && <Button small look="ghost" why={why} label={`Rotate ${of.name}`} onClick={() => onRotate(of)}>Rotate</Button>}
          <Button small look="ghost" className="danger" why={why} label={`Revoke ${of.name}`} onClick={() => onRevoke(of)}>Revoke</Button>
        </span>
      ),
    },
  ];
  return (
    <DataList
      label="Keys"
      className="keys-list"
      list={keys}
      columns={columns}
      keyOf={(of) => of.id}
      selected={selected}
      onClear={onClear}
      empty={
        <Empty icon="key" title="No key yet" act={<Button look="primary" icon="plus" why={why} onClick={onNew}>New key</Button>}>
          A program shows a key instead of a password. It may do what you choose, for as long as you choose.
        </Empty>
      }
    />
  );
}

function State({ of }: { of: KeyItem }): ReactNode {
  const state = stateOf(of);
  return state ? <span title={state.why}><Tag tone={state.tone}>{state.word}</Tag></span> : null;
}
