import { useDeferredValue, useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Refusal } from "../kit/Refusal";
import { useList } from "../server/read";
import { addressOf } from "../server/session";
import { isStaffs, namesOf, staffs, useWorkspace, type Workspace } from "../server/workspace";
import { pagesOn, servicePages } from "../routes";
import { baseOf, samePage, usePage } from "./where";

/** CustomerSwitcher says on whose things staff act, and keeps the page when they choose another. */
export function CustomerSwitcher(): ReactNode {
  const workspace = useWorkspace();
  const customer = isStaffs(workspace) ? "Staff's own" : namesOf(workspace) || "All customers";
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="scope" aria-label={isStaffs(workspace) ? customer : `Customer ${customer}`} aria-haspopup="dialog" title={workspace && !isStaffs(workspace) ? "You act here with the authority of the service, and it is audited" : undefined} onClick={() => setOpen(true)}>
        <Icon name="globe" small />
        {!isStaffs(workspace) && <span className="dim desk">Customer</span>} <b className={workspace ? "trunc" : "trunc desk"}>{customer}</b>
        <Icon name="updown" small />
      </button>
      {open && <Choose onClose={() => setOpen(false)} />}
    </>
  );
}

function Choose({ onClose }: { onClose: () => void }): ReactNode {
  const navigate = useNavigate();
  const here = usePage();
  const [typed, setTyped] = useState("");
  const found = useList("/api/admin/workspaces", { query: { q: useDeferredValue(typed) || undefined } });
  const go = (to: Workspace | undefined): void => {
    onClose();
    void navigate({ to: `${baseOf(to)}/${samePage(here, to ? pagesOn("admin", to) : servicePages)}` });
  };
  return (
    <Dialog title="Customer" onClose={onClose}>
      <Field label="Name or address" value={typed} onChange={(event) => setTyped(event.target.value)} autoFocus autoComplete="off" />
      {found.error && !found.items && <Refusal error={found.error} onRetry={found.retry} />}
      <div className="picks">
        <button type="button" className="pick bare-pick" onClick={() => go(undefined)}>
          <b>All customers</b>
        </button>
        <button type="button" className="pick bare-pick" onClick={() => go(staffs)}>
          <b>Staff's own workspace</b>
        </button>
        {found.items?.filter((each) => !each.eraseAt).map((each) => {
          const at = addressOf(each.scope);
          return (
            at && (
              <button key={each.id} type="button" className="pick bare-pick" onClick={() => go(at)}>
                <b className="trunc">{each.name}</b>
                {each.suspended ? <span className="tag bad">Suspended</span> : <span />}
                <small className="wide trunc">{namesOf(at)}</small>
              </button>
            )
          );
        })}
      </div>
    </Dialog>
  );
}
