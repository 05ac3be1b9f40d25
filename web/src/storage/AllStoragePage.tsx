import type { ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { bytes } from "../kit/amount";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Meter } from "../kit/Meter";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import type { ItemOf } from "../server/path";
import { useList } from "../server/read";
import { addressOf } from "../server/session";
import { Page } from "../shell/Page";
import { baseOf } from "../shell/where";
import { stateOf } from "./storage";

type Stored = ItemOf<"/api/admin/storage">;

const columns: readonly Column<Stored>[] = [
  { head: "Workspace", cell: (of) => <b>{of.scope.replace(/^users\//, "")}</b> },
  { head: "State", cell: (of) => <Tag tone={stateOf(of).tone}>{stateOf(of).word}</Tag>, phone: "end" },
  { head: "Used", className: "num", cell: (of) => <>{bytes(of.usedBytes)} <span className="faint">of {bytes(of.limitBytes)}</span></> },
  { head: "Full", phone: "hide", cell: (of) => <Meter label={`${of.scope} is full by`} value={of.usedBytes} most={of.limitBytes} tone={of.state === "ok" ? "" : of.state === "warning" ? "warn" : "bad"} /> },
  { head: "Measured", className: "dim num", phone: "end", cell: (of) => <Time at={of.measuredAt} quiet /> },
];

/** AllStoragePage is what every workspace stores, for staff. A row leads to that workspace. */
export function AllStoragePage(): ReactNode {
  const list = useList("/api/admin/storage");
  const navigate = useNavigate();
  const open = (of: Stored): void => {
    const at = addressOf(of.scope);
    if (at) void navigate({ to: `${baseOf(at)}/storage` });
  };
  return (
    <Page title="Storage">
      <DataList
        label="Storage of all workspaces"
        list={list}
        columns={columns}
        keyOf={(of) => of.scope}
        onOpen={open}
        empty={<Empty icon="disk" title="Nothing is stored yet">A workspace is listed once it has written something.</Empty>}
      />
    </Page>
  );
}
