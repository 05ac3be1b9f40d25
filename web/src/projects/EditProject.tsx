import { useEffect, useRef, useState, type ReactNode } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "../kit/Button";
import { ConflictBar } from "../kit/ConflictBar";
import { Dialog } from "../kit/Dialog";
import { Field, focusInvalid, TextField } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import type { Project } from "./project";

/** EditProject changes what a project is called, and what is said of it. */
export function EditProject({ project, onClose }: { project: Project; onClose: () => void }): ReactNode {
  const [begun, setBegun] = useState(project);
  const [name, setName] = useState(project.name);
  const [description, setDescription] = useState(project.description);
  const change = useAct("patch", "/api/workspaces/{username}/{business}/projects/{slug}");
  const queries = useQueryClient();
  const toast = useToast();
  const body = useRef<HTMLDivElement>(null);
  const wrong = fieldErrors(change.error);
  useEffect(() => focusInvalid(body.current), [change.error]);

  const save = async (version: number): Promise<void> => {
    const done = await change.run({ path: { slug: project.slug }, body: { name: name.trim(), description: description.trim() }, version });
    if (!done) return void queries.invalidateQueries();
    toast({ tone: "ok", text: "Saved." });
    onClose();
  };
  const takeTheirs = (): void => {
    setBegun(project);
    setName(project.name);
    setDescription(project.description);
    change.reset();
  };
  return (
    <Dialog
      title="Name and description"
      onClose={onClose}
      onSubmit={() => void save(begun.version)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={change.busy} why={name.trim() === "" ? "Give it a name first" : undefined}>Save</Button>
        </>
      }
    >
      <div ref={body} className="form">
        {change.conflict ? (
          <ConflictBar what="this project" busy={change.busy} onTheirs={takeTheirs} onMine={() => void save(project.version)} />
        ) : (
          change.error && Object.keys(wrong).length === 0 && <Trouble error={change.error} />
        )}
        <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} error={wrong["name"]} maxLength={80} autoComplete="off" autoFocus />
        <TextField label="Description" hint="optional" rows={4} value={description} onChange={(event) => setDescription(event.target.value)} error={wrong["description"]} maxLength={2000} />
        <p className="help">Its address stays {project.slug}.</p>
      </div>
    </Dialog>
  );
}
