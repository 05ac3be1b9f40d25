import { useEffect, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { CopyButton } from "../kit/CodeSample";
import { ConflictBar } from "../kit/ConflictBar";
import { Field } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { exact } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { useHere, useMay, useSavedHere, type WorkspaceFacts } from "../server/role";
import { Deleted, Ending } from "./Ending";
import { Settings } from "./Settings";

const path = "/api/workspaces/{username}/{business}";

/** GeneralPage is the workspace itself: its name, and the ways to put it away, leave it or end it. */
export function GeneralPage(): ReactNode {
  const { facts } = useHere();
  const [erasedAt, setErasedAt] = useState<string>();
  return (
    <Settings thing="General">
      <div className="body pad">
        {facts && erasedAt && <Deleted name={facts.name} erasedAt={erasedAt} onRestored={() => setErasedAt(undefined)} />}
        {facts && !erasedAt && (
          <div className="sections">
            <Name facts={facts} />
            <About facts={facts} />
            <Ending facts={facts} onDeleted={setErasedAt} />
          </div>
        )}
      </div>
    </Settings>
  );
}

/** Name is the form of the workspace's name. What is typed stays when the workspace changes meanwhile; a name that others gave it since is not written over unasked. */
function Name({ facts }: { facts: WorkspaceFacts }): ReactNode {
  const [draft, setDraft] = useState<{ text: string; over: WorkspaceFacts }>();
  const name = draft?.text ?? facts.name;
  const { why } = useMay("manage");
  const rename = useAct("patch", path);
  const saved = useSavedHere();
  const toast = useToast();
  const write = (text: string): void => setDraft((now) => ({ text, over: now?.over ?? facts }));
  useEffect(() => setDraft((now) => (now?.text === facts.name ? undefined : now)), [draft, facts.name]); // then the field follows the workspace again
  const save = async (version?: number): Promise<void> => {
    const done = await rename.run({ body: { name: name.trim() }, version });
    if (!done) return;
    saved(done.answer);
    setDraft((now) => now && { text: now.text === name ? done.answer.name : now.text, over: done.answer });
    toast({ tone: "ok", text: `This workspace is now called ${done.answer.name}.` });
  };
  const unchanged = name.trim() === facts.name ? "The name is as it was" : name.trim() ? undefined : "Write a name first";
  const field = fieldErrors(rename.error)["name"];
  return (
    <section className="card" aria-labelledby="workspace">
      <header><h2 id="workspace">Workspace</h2></header>
      {rename.error && !rename.conflict && !field && <Trouble error={rename.error} />}
      {rename.conflict && <ConflictBar what="the name" busy={rename.busy} onTheirs={() => { rename.reset(); setDraft(undefined); }} onMine={() => void save()} />}
      <form
        className="inside"
        onSubmit={(event) => {
          event.preventDefault();
          if (!why && !unchanged) void save(draft && draft.over.name !== facts.name ? draft.over.version : facts.version);
        }}
      >
        <Field label="Name" value={name} onChange={(event) => write(event.target.value)} error={field} maxLength={80} disabled={why !== undefined} help={why ?? "What people see. The address stays as it is."} />
        <Button type="submit" look="primary" busy={rename.busy} why={why ?? unchanged}>Save</Button>
      </form>
    </section>
  );
}

function About({ facts }: { facts: WorkspaceFacts }): ReactNode {
  const rows: [string, ReactNode][] = [
    ["Address", <span className="mono">{facts.scope.replace(/^users\//, "")}</span>],
    ["Id", <span className="row tight"><span className="mono trunc">{facts.id}</span> <CopyButton text={facts.id} label="Copy the id" /></span>],
    ["Made", exact(new Date(facts.createdAt))],
    ["Your role", facts.role],
    ["State", facts.suspended ? <Tag tone="bad">Suspended</Tag> : facts.archived ? <Tag>Archived</Tag> : <Tag tone="ok">In use</Tag>],
  ];
  return (
    <section className="card" aria-labelledby="about">
      <header><h2 id="about">About</h2></header>
      <dl className="kv inside">
        {rows.map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
