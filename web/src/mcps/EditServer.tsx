import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct, type Act } from "../server/act";
import { fieldErrors } from "../server/refusal";
import type { ServerDetail } from "./server";
import { ServerFields, type Address } from "./ServerFields";

const path = "/api/workspaces/{username}/{business}/mcps/{mcp}";

type Edit = Parameters<Act<typeof path, "patch">["run"]>[0]["body"];

/** EditServer changes where a server is or its credential, and connects it again. */
export function EditServer({ server, onClose }: { server: ServerDetail; onClose: () => void }): ReactNode {
  const [address, setAddress] = useState<Address>({ url: server.url, auth: server.auth, token: "" });
  const moved = address.url !== server.url;
  const body = { ...(moved && { url: address.url }), ...(address.auth !== server.auth && { auth: address.auth }), ...(address.token !== "" && { token: address.token }) };
  return (
    <EditDialog server={server} body={body} onClose={onClose}>
      {(errors) => (
        <>
          <ServerFields value={address} onChange={setAddress} errors={errors} stored={server.tokenPresent && server.auth === "bearer"} />
          {moved && server.tools.length > 0 && <p className="help warn">Another address takes its tools away; those of the new one arrive off.</p>}
        </>
      )}
    </EditDialog>
  );
}

export interface EditDialogProps {
  server: ServerDetail;
  /** What changes. */
  body: Edit;
  /** Why it cannot be saved as it is. */
  missing?: string | undefined;
  onClose: () => void;
  /** The fields, with what is wrong with them. */
  children: (errors: Record<string, string>) => ReactNode;
}

/** EditDialog saves what changes of a server, and connects it again. */
export function EditDialog({ server, body, missing, onClose, children }: EditDialogProps): ReactNode {
  const change = useAct("patch", path);
  const connect = useAct("post", `${path}/connect`, { refreshes: ["/api/workspaces/{username}/{business}/tools"] });
  const toast = useToast();
  const save = async (): Promise<void> => {
    if (Object.keys(body).length === 0) return onClose();
    if (!(await change.run({ path: { mcp: server.id }, version: server.version, body }))) return;
    const done = await connect.run({ path: { mcp: server.id } });
    if (done?.answer.signInUrl) return location.assign(done.answer.signInUrl);
    if (done?.answer.status === "ok") toast({ tone: "ok", text: `${server.name} is connected.` });
    else toast({ tone: "bad", text: done?.answer.statusReason || `${server.name} is saved, and does not answer.` });
    onClose();
  };
  const busy = change.busy || connect.busy;
  return (
    <Dialog
      title={`Edit ${server.name}`}
      onClose={onClose}
      onSubmit={() => !busy && !missing && void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={busy} why={missing}>Save and connect</Button>
        </>
      }
    >
      {change.error && <Trouble error={change.error} />}
      {children(fieldErrors(change.error))}
    </Dialog>
  );
}
