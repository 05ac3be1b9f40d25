import { useDeferredValue, useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Refusal } from "../kit/Refusal";
import { useList } from "../server/read";
import { addressOf } from "../server/session";
import { useWorkspace } from "../server/workspace";
import { servicePages, workspacePages } from "../routes";
import { baseOf, usePage } from "./where";

/** CustomerSwitcher says on whose things staff act, and keeps the page when they choose another. */
export function CustomerSwitcher(): ReactNode {
  const workspace = useWorkspace();
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="scope" aria-haspopup="dialog" title={workspace ? "You act here with the authority of the service, and it is audited" : undefined} onClick={() => setOpen(true)}>
        <Icon name="globe" small />
        <span className="dim desk">Customer</span> <b className="trunc">{workspace ? `${workspace.username}/${workspace.business}` : "All customers"}</b>
        <Icon name="updown" small />
      </button>
      {open && <Choose onClose={() => setOpen(false)} />}
    </>
  );
}

function Choose({ onClose }: { onClose: () => void }): ReactNode {
  const navigate = useNavigate();
  const here = usePage().split("/")[0] ?? "";
  const [typed, setTyped] = useState("");
  const found = useList("/api/admin/workspaces", { query: { q: useDeferredValue(typed) || undefined } });
  const go = (base: string, pages: readonly { path: string }[]): void => {
    onClose();
    void navigate({ to: `${base}/${pages.some((page) => page.path === here) ? here : ""}` });
  };
  return (
    <Dialog title="Customer" onClose={onClose}>
      <Field label="Name or address" value={typed} onChange={(event) => setTyped(event.target.value)} autoFocus autoComplete="off" />
      {found.error && !found.items && <Refusal error={found.error} onRetry={found.retry} />}
      <div className="picks">
        <button type="button" className="pick bare-pick" onClick={() => go("", servicePages)}>
          <b>All customers</b>
        </button>
        {found.items?.map((each) => {
          const at = addressOf(each.scope);
          return (
            at && (
              <button key={each.id} type="button" className="pick bare-pick" onClick={() => go(baseOf(at), workspacePages)}>
                <b className="trunc">{each.name}</b>
                {each.suspended ? <span className="tag bad">Suspended</span> : <span />}
                <small className="wide trunc">{`${at.username}/${at.business}`}</small>
              </button>
            )
          );
        })}
      </div>
    </Dialog>
  );
}
