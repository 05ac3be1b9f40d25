import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import type { ServerDetail } from "./server";
import { ServerFields, type Address } from "./ServerFields";

/** EditServer changes where a server is or its credential, and connects it again. */
export function EditServer({ server, onClose }: { server: ServerDetail; onClose: () => void }): ReactNode {
  const [address, setAddress] = useState<Address>({ url: server.url, auth: server.auth, token: "" });
  const change = useAct("patch", "/api/workspaces/{username}/{business}/mcps/{mcp}");
  const connect = useAct("post", "/api/workspaces/{username}/{business}/mcps/{mcp}/connect", { refreshes: ["/api/workspaces/{username}/{business}/tools"] });
  const toast = useToast();
  const moved = address.url !== server.url;
  const errors = fieldErrors(change.error);
  const save = async (): Promise<void> => {
    const body = { ...(moved ? { url: address.url } : {}), ...(address.auth !== server.auth ? { auth: address.auth } : {}), ...(address.token !== "" ? { token: address.token } : {}) };
    if (Object.keys(body).length === 0) return onClose();
    if (!(await change.run({ path: { mcp: server.id }, version: server.version, body }))) return;
    const done = await connect.run({ path: { mcp: server.id } });
    if (done?.answer.signInUrl) return location.assign(done.answer.signInUrl);
    if (done?.answer.status === "ok") toast({ tone: "ok", text: `${server.name} is connected.` });
    else toast({ tone: "bad", text: done?.answer.statusReason || `${server.name} is saved, and does not answer.` });
    onClose();
  };
  return (
    <Dialog
      title={`Edit ${server.name}`}
      onClose={onClose}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={change.busy || connect.busy}>Save and connect</Button>
        </>
      }
    >
      {change.error && <Trouble error={change.error} />}
      <ServerFields value={address} onChange={setAddress} errors={errors} stored={server.tokenPresent && server.auth === "bearer"} />
      {moved && server.tools.length > 0 && <p className="help warn">Another address takes its tools away; those of the new one arrive off.</p>}
    </Dialog>
  );
}
