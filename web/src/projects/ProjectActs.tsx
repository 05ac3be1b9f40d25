import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Menu } from "../kit/Menu";
import { folderOf } from "./path";
import type { Project } from "./project";
import { useMayWork } from "./role";

/** Asking is what somebody wants to do with a project. */
export type Asking = "new" | "files" | "folder" | "edit" | "delete";

/** ProjectActs are what can be done with a project, wherever one is in it. */
export function ProjectActs({ project, path, onAsk }: { project: Project; path: string; onAsk: (asking: Asking) => void }): ReactNode {
  const { why } = useMayWork(project.slug);
  const folder = folderOf(path);
  const into = `Into ${folder === "" ? project.slug : folder}`;
  const ask = (asking: Asking) => () => onAsk(asking);
  const uploads = [
    { label: "Files…", icon: "file" as const, onSelect: ask("files"), why },
    { label: "A folder…", icon: "folder" as const, onSelect: ask("folder"), why },
  ];
  const rest = [
    { label: "Name and description…", icon: "edit" as const, onSelect: ask("edit"), why },
    { label: "Delete project…", icon: "trash" as const, danger: true, onSelect: ask("delete"), why },
  ];
  return (
    <>
      <Button icon="plus" className="desk" why={why} onClick={ask("new")}>
        New file
      </Button>
      <Menu label="Upload" className="btn primary desk" button={<><Icon name="upload" small /> Upload</>} groups={[{ heading: into, items: uploads }]} />
      <Menu label="More of this project" bare className="btn ghost icon desk" button={<Icon name="more" />} groups={[{ items: rest }]} />
      <Menu
        label="Acts of this project"
        bare
        className="btn ghost icon mobile"
        button={<Icon name="more" />}
        groups={[{ items: [{ label: "New file…", icon: "plus", onSelect: ask("new"), why }] }, { heading: `Upload, ${into.toLowerCase()}`, items: uploads }, { items: rest }]}
      />
    </>
  );
}
