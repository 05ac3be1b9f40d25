import { useEffect, useRef, useState, type ReactNode } from "react";
import { count } from "../kit/amount";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field, focusInvalid, TextField } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { useBound } from "./bound";
import { nameFor, slugOf } from "./project";
import { upload, type Chosen } from "./uploads";

export interface NewProjectProps {
  /** What it begins with: it is called as they are, and they are uploaded when it is made. */
  files: readonly Chosen[];
  onClose: () => void;
  onMade: (slug: string) => void;
}

/** NewProject makes a project. Its name in addresses follows the name, until somebody writes another. */
export function NewProject({ files, onClose, onMade }: NewProjectProps): ReactNode {
  const make = useAct("post", "/api/workspaces/{username}/{business}/projects");
  const [name, setName] = useState(() => nameFor(files.map(({ path }) => path)).slice(0, 80));
  const [written, setWritten] = useState<string>();
  const slug = written ?? slugOf(name);
  const bound = useBound(slug);
  const [description, setDescription] = useState("");
  const body = useRef<HTMLDivElement>(null);
  const wrong = fieldErrors(make.error);
  const taken = make.error?.type === "name_taken" ? "Another project has this name." : undefined;
  useEffect(() => focusInvalid(body.current), [make.error]);

  const send = async (): Promise<void> => {
    const done = await make.run({ body: { name: name.trim(), slug, ...(description.trim() && { description: description.trim() }) } });
    if (!done) return;
    if (files.length > 0) upload(files, bound);
    onMade(done.answer.slug);
  };
  const shown = make.error && !taken && Object.keys(wrong).length === 0;
  return (
    <Dialog
      title="New project"
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={make.busy} why={name.trim() === "" ? "Give it a name first" : undefined}>
            Create project
          </Button>
        </>
      }
    >
      <div ref={body} className="form">
        {shown && make.error && <Trouble error={make.error} />}
        {files.length > 0 && <p className="help">{files.length === 1 ? files[0]?.path : `${count(files.length)} files`} will be uploaded into it.</p>}
        <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} error={wrong["name"]} maxLength={80} autoComplete="off" autoFocus />
        <Field
          label="Address"
          hint="cannot be changed later"
          className="mono"
          value={slug}
          onChange={(event) => setWritten(event.target.value)}
          error={taken ?? (wrong["slug"] && "Small letters, digits and single dashes, at most 64.")}
          help="Agents and addresses call it by this."
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
        />
        <TextField label="Description" hint="optional" rows={3} value={description} onChange={(event) => setDescription(event.target.value)} error={wrong["description"]} maxLength={2000} />
      </div>
    </Dialog>
  );
}
