import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Dialog } from "../kit/Dialog";
import { Field, PasswordField } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct, type Act } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { counted, isOwnServer, providerName, type Provider } from "./models";

const path = "/api/workspaces/{username}/{business}/models/{provider}";
const secrets = "/api/workspaces/{username}/{business}/secrets";

interface DialogOf {
  provider: Provider;
  onClose: () => void;
  onStored: () => void;
}

/** KeyDialog stores another key in the place of the one that is there. */
export function KeyDialog({ provider, onClose, onStored }: DialogOf): ReactNode {
  const [key, setKey] = useState("");
  const put = useAct("put", path, { refreshes: [secrets] });
  const send = async (): Promise<void> => {
    if (!(await put.run({ path: { provider: provider.provider }, body: { key: key.trim() }, version: provider.version }))) return;
    onClose();
    onStored();
  };
  const name = providerName(provider.provider);
  return (
    <Dialog title={provider.key.owner === "workspace" ? `Replace the key of ${name}` : `A key of your own for ${name}`} onClose={onClose} onSubmit={() => key.trim() && void send()} footer={<Footer busy={put.busy} onClose={onClose} why={key.trim() ? undefined : "Paste a key first"} />}>
      <Refused act={put} />
      <PasswordField label="Key" value={key} onChange={(event) => setKey(event.target.value)} error={fieldErrors(put.error)["key"]} autoComplete="off" autoFocus placeholder="Paste it here" help="It goes to the secret store and cannot be read back. Turns that begin after this use it." />
    </Dialog>
  );
}

/** AddressDialog says where a provider is. A key never follows to another address without a proof of who asks for it. */
export function AddressDialog({ provider, onClose, onStored }: DialogOf): ReactNode {
  const [url, setUrl] = useState(provider.url);
  const [key, setKey] = useState("");
  const put = useAct("put", path, { refreshes: [secrets] });
  const send = async (): Promise<void> => {
    const body = { url: url.trim(), ...(key.trim() && { key: key.trim() }) };
    if (!(await put.run({ path: { provider: provider.provider }, body, version: provider.version }))) return;
    onClose();
    onStored();
  };
  const told = put.error?.meta?.["fields"] ? put.error.details : undefined;
  const keyless = provider.provider === "openai";
  return (
    <Dialog title={`Address of ${providerName(provider.provider)}`} onClose={onClose} onSubmit={() => void send()} footer={<Footer busy={put.busy} onClose={onClose} />}>
      {!told && <Refused act={put} />}
      <Field label="Address" type="url" value={url} onChange={(event) => setUrl(event.target.value)} error={told} autoFocus spellCheck={false} autoComplete="off" placeholder="https://models.example.com/v1" help={keyless ? "Any server that speaks as OpenAI does. Empty: OpenAI itself." : "Empty: the provider's own."} />
      <PasswordField label="Key" hint="optional" value={key} onChange={(event) => setKey(event.target.value)} autoComplete="off" placeholder={keyless ? "Some servers want none" : "The stored one stays"} />
    </Dialog>
  );
}

/** RemoveDialog destroys the key of the workspace, and forgets its address. */
export function RemoveDialog({ provider, users, onClose }: { provider: Provider; users: number; onClose: () => void }): ReactNode {
  const drop = useAct("delete", path, { refreshes: [secrets] });
  const toast = useToast();
  const send = async (): Promise<void> => {
    if (!(await drop.run({ path: { provider: provider.provider }, version: provider.version }))) return;
    onClose();
    toast({ tone: "ok", text: `${providerName(provider.provider)} is no longer set here.` });
  };
  return (
    <ConfirmByName act={`Remove ${providerName(provider.provider)}`} name={provider.provider} busy={drop.busy} error={drop.error} onClose={onClose} onConfirm={() => void send()}>
      {provider.key.owner === "workspace" ? "The key is destroyed" : "The address is forgotten"}
      {isOwnServer(provider) && provider.key.present && ", and the address is forgotten"}.
      {users > 0 && ` ${counted(users, "agent")} ${users === 1 ? "asks" : "ask"} this provider and will fail, unless the service has a key for it.`}
    </ConfirmByName>
  );
}

function Footer({ busy, why, onClose }: { busy: boolean; why?: string | undefined; onClose: () => void }): ReactNode {
  return (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look="primary" busy={busy} why={why}>Store and test</Button>
    </>
  );
}

function Refused({ act }: { act: Pick<Act<never, never>, "error" | "conflict"> }): ReactNode {
  return act.error ? <Trouble error={act.error} /> : null;
}
