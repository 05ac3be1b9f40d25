import { useEffect, useRef, useState, type DragEvent, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { usePath } from "../shell/where";
import { useBound } from "./bound";
import { carriesFiles, droppedFiles, pickedFiles } from "./drop";
import { FilePane } from "./FilePane";
import { FileTree } from "./FileTree";
import { Search } from "../kit/Search";
import { FoundFiles } from "./FoundFiles";
import { NewFile } from "./NewFile";
import { folderOf } from "./path";
import { addressOf, type Project } from "./project";
import type { Asking } from "./ProjectActs";
import { PullLine } from "./PullLine";
import { useMayWork } from "./role";
import { UploadList } from "./UploadList";
import { upload, type Chosen } from "./uploads";

export interface FilesTabProps {
  project: Project;
  /** The file that is open; "": none. */
  path: string;
  asking: Asking | undefined;
  onAsked: () => void;
}

/** FilesTab is the tree and a file beside it. On a phone it is one or the other. Files can be dropped anywhere on it. */
export function FilesTab({ project, path, asking, onAsked }: FilesTabProps): ReactNode {
  const { slug } = project;
  const { q } = useSearch({ strict: false }) as { q?: string };
  const { may, why } = useMayWork(slug);
  const to = usePath();
  const navigate = useNavigate();
  const bound = useBound(slug);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState<string>();
  const open = (next: string): void => void navigate({ to: to(addressOf(slug, next)), search: (q ? { q } : {}) as never });
  const find = (next: string): void => void navigate({ to: ".", search: (next ? { q: next } : {}) as never, replace: true });

  useEffect(() => {
    if (asking === "files") files.current?.click();
    if (asking === "folder") folder.current?.click();
    if (asking === "files" || asking === "folder") onAsked();
  }, [asking, onAsked]);

  const begin = (chosen: readonly Chosen[]): void => {
    if (chosen.length > 0) upload(chosen, bound);
  };
  const picked = (input: HTMLInputElement): void => {
    begin(pickedFiles(input.files, folderOf(path)));
    input.value = "";
  };
  const drag = (event: DragEvent): void => {
    if (!may || !carriesFiles(event.dataTransfer)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    setOver(folderUnder(event.target));
  };
  const drop = (event: DragEvent): void => {
    if (!may || !carriesFiles(event.dataTransfer)) return;
    event.preventDefault();
    setOver(undefined);
    void droppedFiles(event.dataTransfer, folderUnder(event.target)).then(begin);
  };
  const leave = (event: DragEvent): void => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(undefined);
  };
  return (
    <div className={`split duo ${path ? "" : "listing"} ${over === undefined ? "" : "dropping"}`} onDragOver={drag} onDragLeave={leave} onDrop={drop}>
      <aside className="col tree-col" aria-label="Files">
        {(project.fileCount > 0 || q) && <Search label="Find files" placeholder="Path begins with…" query={q ? String(q) : ""} onQuery={find} />}
        {q ? (
          <FoundFiles slug={slug} prefix={String(q)} current={path} onOpen={open} onClear={() => find("")} />
        ) : project.fileCount === 0 ? (
          <div className="tree-empty desk">
            <p className="help">Nothing here yet.</p>
          </div>
        ) : (
          <FileTree slug={slug} current={path} over={over} onOpen={open} />
        )}
        <UploadList project={bound.project} slug={slug} />
        {project.repository && <PullLine project={project} />}
      </aside>
      {path ? (
        <FilePane key={path} project={project} path={path} />
      ) : (
        <section className={project.fileCount === 0 ? "col file shown" : "col file"} aria-label="File">
          {project.fileCount === 0 ? (
            <Empty
              icon="upload"
              title="No files yet"
              act={
                <>
                  <Button look="primary" icon="upload" why={why} onClick={() => files.current?.click()}>Upload files</Button>
                  <Button icon="branch" onClick={() => void navigate({ to: to(`projects/${slug}/repository`) })}>Connect a repository</Button>
                </>
              }
            >
              Drop files here, or bring them from a repository. Agents that are given this project read and write them.
            </Empty>
          ) : (
            <Empty icon="file" title="Choose a file">It opens here. Drop files anywhere to upload them.</Empty>
          )}
        </section>
      )}
      {over !== undefined && (
        <div className="drop-note" role="status">
          <Icon name="upload" small /> Drop to upload into {over === "" ? slug : over}
        </div>
      )}
      <input ref={files} type="file" multiple hidden aria-label="Files to upload" onChange={(event) => picked(event.target)} />
      <input ref={folder} type="file" {...{ webkitdirectory: "" }} hidden aria-label="Folder to upload" onChange={(event) => picked(event.target)} />
      {asking === "new" && <NewFile slug={slug} folder={folderOf(path)} onClose={onAsked} onMade={open} />}
    </div>
  );
}

/** folderUnder is the folder that is dropped upon: that of the row, or the project itself. */
function folderUnder(target: EventTarget): string {
  return (target instanceof Element ? target.closest<HTMLElement>("[data-folder]")?.dataset["folder"] : undefined) ?? "";
}
