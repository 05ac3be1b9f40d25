import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Combobox } from "../kit/Combobox";
import { Dialog } from "../kit/Dialog";
import { Empty } from "../kit/Empty";
import { Field, focusInvalid } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Refusal } from "../kit/Refusal";
import { Time } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import type { ItemOf } from "../server/path";
import { place } from "../server/place";
import { useList, useRead } from "../server/read";
import { fieldErrors } from "../server/refusal";
import { useInstall } from "./install";
import type { Project } from "./project";
import { RepositoryTrouble } from "./RepositoryTrouble";
import { useMayWork } from "./role";

type Installation = ItemOf<"/api/workspaces/{username}/{business}/installations">;

export interface ConnectRepositoryProps {
  project: Project;
  /** The branch of what is followed is changed, in a dialog. */
  change?: boolean;
  onClose?: () => void;
}

/** ConnectRepository has a project follow a repository. What is missing for that is said first, and who can bring it. */
export function ConnectRepository({ project, change = false, onClose }: ConnectRepositoryProps): ReactNode {
  const configured = useConfigured();
  const installations = useList("/api/workspaces/{username}/{business}/installations", { every: 10_000 });
  const ready = (installations.items ?? []).filter((each) => each.state === "ready");
  if (change) return <ChangeBranch project={project} onClose={() => onClose?.()} />;
  if (installations.error && !installations.items) return <Refusal error={installations.error} onRetry={installations.retry} />;
  if (!installations.items) return <div className="card wait" role="status" aria-label="Loading connections"><div className="inside"><span className="skeleton wide" /></div></div>;
  return (
    <>
      {installations.items.filter((each) => each.state !== "ready").map((each) => (
        <Waiting key={`${each.provider} ${each.id ?? 0}`} installation={each} />
      ))}
      {ready.length > 0 ? <ConnectForm project={project} installations={ready} /> : <Unconnected configured={configured} waiting={installations.items.length > 0} />}
    </>
  );
}

/** useConfigured is whether GitHub is set up on this server; undefined: that is not known yet. Staff are told more of it, elsewhere. */
function useConfigured(): boolean | undefined {
  const staff = place.surface === "admin";
  const all = useRead("/api/admin/providers", { when: staff });
  const one = useRead("/api/auth/oauth/{provider}/status", { path: { provider: "github" }, when: !staff });
  return staff ? all.data?.items.find((each) => each.provider === "github")?.configured : one.data?.configured;
}

function Waiting({ installation }: { installation: Installation }): ReactNode {
  return (
    <div className="banner warn boxed" role="status">
      <Icon name="clock" />
      {installation.state === "pending_approval" ? (
        <p><b>Waiting for approval.</b> An organisation owner must approve the app on GitHub. Asked <Time at={installation.at} />.</p>
      ) : (
        <p><b>Suspended.</b> GitHub lets nobody through the app on {installation.account} for now. An owner there can end that.</p>
      )}
    </div>
  );
}

function Unconnected({ configured, waiting }: { configured: boolean | undefined; waiting: boolean }): ReactNode {
  const { address, why } = useInstall();
  if (configured === false) {
    return (
      <Empty icon="branch" title="GitHub is not set up on this server" act={place.surface === "admin" ? <a className="btn primary" href={`${place.admin}/settings/providers`}>Set it up</a> : undefined}>
        Whoever runs the service connects it once; after that a project can follow a repository. Files can be uploaded meanwhile.
      </Empty>
    );
  }
  return (
    <Empty
      icon="branch"
      title={waiting ? "Nothing else is connected" : "Follow a repository"}
      act={why ? <Button look="primary" why={why}>Connect GitHub</Button> : <a className="btn primary" href={address}>Connect GitHub</a>}
    >
      A pull brings the files of a branch here. What people and agents change here is kept. First choose on GitHub which repositories this workspace may read.
    </Empty>
  );
}

function ConnectForm({ project, installations }: { project: Project; installations: readonly Installation[] }): ReactNode {
  const connect = useAct("put", "/api/workspaces/{username}/{business}/projects/{slug}/repository");
  const { why } = useMayWork(project.slug);
  const install = useInstall();
  const toast = useToast();
  const [id, setId] = useState(String(installations[0]?.id ?? ""));
  const [name, setName] = useState("");
  const [branch, setBranch] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const chosen = installations.find((each) => String(each.id) === id);
  const wrong = fieldErrors(connect.error);
  useEffect(() => focusInvalid(form.current), [connect.error]);
  const send = async (): Promise<void> => {
    if (!chosen?.id || !chosen.account) return;
    const repository = { provider: chosen.provider, owner: chosen.account, name: name.trim(), installationId: chosen.id, ...(branch.trim() && { branch: branch.trim() }) };
    if (await connect.run({ path: { slug: project.slug }, body: repository, version: project.version })) toast({ tone: "ok", text: "Connected. Pull to bring its files." });
  };
  return (
    <form
      ref={form}
      className="card"
      aria-labelledby="connect"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <header><h2 id="connect">Follow a repository</h2></header>
      <div className="inside form">
        {connect.error && Object.keys(wrong).length === 0 && <RepositoryTrouble error={connect.error} />}
        <div className="pair">
          <Combobox label="Owner on GitHub" choices={installations.map((each) => ({ value: String(each.id), label: each.account ?? "" }))} value={id} onChange={setId} error={wrong["owner"] && "The app is not installed there."} />
          <Field label="Repository" value={name} onChange={(event) => setName(event.target.value)} error={wrong["name"] && "This is not the name of a repository."} autoComplete="off" autoCapitalize="off" spellCheck={false} />
        </div>
        <Field label="Branch" hint="optional" value={branch} onChange={(event) => setBranch(event.target.value)} error={wrong["branch"] && "The repository has no such branch."} help="Empty: the one that the repository itself names." autoComplete="off" autoCapitalize="off" spellCheck={false} />
        <div className="row">
          <span className="help grow">{!install.why && <a className="link" href={install.address}>Choose other repositories on GitHub</a>}</span>
          <Button type="submit" look="primary" icon="branch" busy={connect.busy} why={why ?? (name.trim() === "" ? "Name the repository first" : undefined)}>Connect</Button>
        </div>
      </div>
    </form>
  );
}

function ChangeBranch({ project, onClose }: { project: Project; onClose: () => void }): ReactNode {
  const connect = useAct("put", "/api/workspaces/{username}/{business}/projects/{slug}/repository");
  const [branch, setBranch] = useState(project.repository?.branch ?? "");
  const wrong = fieldErrors(connect.error);
  const send = async (): Promise<void> => {
    if (!project.repository) return;
    const { branch: _, ...rest } = project.repository;
    if (await connect.run({ path: { slug: project.slug }, body: { ...rest, ...(branch.trim() && { branch: branch.trim() }) }, version: project.version })) onClose();
  };
  return (
    <Dialog
      title="Change branch"
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={connect.busy} why={branch.trim() === (project.repository?.branch ?? "") ? "It is that one already" : undefined}>Follow it</Button>
        </>
      }
    >
      {connect.error && Object.keys(wrong).length === 0 && <RepositoryTrouble error={connect.error} />}
      <p className="dim">The files stay until the next pull brings those of the other branch.</p>
      <Field label="Branch" value={branch} onChange={(event) => setBranch(event.target.value)} error={wrong["branch"] && "The repository has no such branch."} help="Empty: the one that the repository itself names." autoComplete="off" autoCapitalize="off" spellCheck={false} autoFocus />
    </Dialog>
  );
}
