import type { ReactNode } from "react";
import { bytes, count } from "../kit/amount";
import { ConfirmByName } from "../kit/ConfirmByName";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import type { Project } from "./project";

/** DeleteProject destroys a project with all of its files, once its name is typed. */
export function DeleteProject({ project, onClose, onDeleted }: { project: Project; onClose: () => void; onDeleted: () => void }): ReactNode {
  const remove = useAct("delete", "/api/workspaces/{username}/{business}/projects/{slug}", { refreshes: ["/api/workspaces/{username}/{business}/storage"] });
  const toast = useToast();
  const confirm = async (): Promise<void> => {
    if (!(await remove.run({ path: { slug: project.slug } }))) return;
    toast({ tone: "ok", text: `Deleted ${project.name}.` });
    onDeleted();
  };
  return (
    <ConfirmByName act="Delete project" name={project.slug} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
      {count(project.fileCount)} {project.fileCount === 1 ? "file" : "files"}, {bytes(project.bytes)}, are gone for good. Agents that were given this project lose it.
      {project.repository && " Its repository stays as it is."}
    </ConfirmByName>
  );
}
