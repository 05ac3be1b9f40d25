import { useRef, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { usePath } from "../shell/where";
import { useGo } from "./place";
import { templates } from "./templates";

/** NoAgent stands where no agent is chosen: what a specialist is, and three to begin with. */
export function NoAgent(): ReactNode {
  const list = useList("/api/workspaces/{username}/{business}/agents", { query: { limit: 200, q: undefined } });
  const { may, why } = useMay("work");
  const path = usePath();
  const none = list.items?.every((each) => each.source !== "database") ?? false;
  return (
    <section className="col file-col" aria-label="Begin">
      <div className="body begin">
        <Icon name="agents" className="l" />
        <h2>{none ? "Write your first specialist" : "Choose an agent, or write one"}</h2>
        <p className="dim">A specialist has instructions, a model and the tools that you give it. Every save is a version, and work in flight stays on the one it began with.</p>
        {may && (
          <ul className="asks" aria-label="Templates">
            {templates.map((each) => (
              <li key={each.id}>
                <Link to={path("agents")} search={{ new: each.id } as never}><b>{each.title}</b><small>{each.about}</small></Link>
              </li>
            ))}
          </ul>
        )}
        <ImportButton why={why} />
      </div>
    </section>
  );
}

/** ImportButton reads an agent of a file, as Export wrote it. */
function ImportButton({ why }: { why: string | undefined }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const save = useAct("post", "/api/workspaces/{username}/{business}/agents/import");
  const toast = useToast();
  const go = useGo();
  const [name, setName] = useState("");
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    setName(file.name);
    const done = await save.run({ body: file });
    if (!done) return;
    toast({ tone: "ok", text: done.answer.version === 1 ? `${done.answer.name} is here.` : `${done.answer.name} is now v${done.answer.version}.` });
    go(done.answer.name);
  };
  return (
    <>
      <Button icon="upload" busy={save.busy} why={why} onClick={() => input.current?.click()}>Import a .md file</Button>
      <input ref={input} type="file" hidden accept=".md,text/markdown" aria-label="Agent file" onChange={(event) => { void read(event.target.files?.[0]); event.target.value = ""; }} />
      {save.error && <div className="refused"><Trouble error={save.error} /><p className="help">{name} was not imported.</p></div>}
    </>
  );
}
