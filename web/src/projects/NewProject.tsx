import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field, focusInvalid, TextField } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { slugOf } from "./project";

/** NewProject makes a project. Its name in addresses follows the name, until somebody writes another. */
export function NewProject({ onClose, onMade }: { onClose: () => void; onMade: (slug: string) => void }): ReactNode {
  const make = useAct("post", "/api/workspaces/{username}/{business}/projects");
  const [name, setName] = useState("");
  const [slug, setSlug] = useState<string>();
  const [description, setDescription] = useState("");
  const body = useRef<HTMLDivElement>(null);
  const wrong = fieldErrors(make.error);
  const taken = make.error?.type === "name_taken" ? "Another project has this name." : undefined;
  useEffect(() => focusInvalid(body.current), [make.error]);

  const send = async (): Promise<void> => {
    const done = await make.run({ body: { name: name.trim(), slug: slug ?? slugOf(name), ...(description.trim() && { description: description.trim() }) } });
    if (done) onMade(done.answer.slug);
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
        <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} error={wrong["name"]} maxLength={80} autoComplete="off" autoFocus />
        <Field
          label="Address"
          hint="cannot be changed later"
          className="mono"
          value={slug ?? slugOf(name)}
          onChange={(event) => setSlug(event.target.value)}
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
