import { useRef, useState, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import "../look/projects.css";
import { bytes, count } from "../kit/amount";
import { Button } from "../kit/Button";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Time } from "../kit/Time";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { Page } from "../shell/Page";
import { usePath } from "../shell/where";
import { Search } from "../kit/Search";
import { pickedFiles } from "./drop";
import { NewProject } from "./NewProject";
import { addressOf, type Project } from "./project";
import type { Chosen } from "./uploads";

const columns: readonly Column<Project>[] = [
  {
    head: "Project",
    cell: (of) => (
      <>
        <b>{of.name}</b>
        {(of.description || of.slug !== of.name) && <small>{of.description || of.slug}</small>}
      </>
    ),
  },
  {
    head: "Repository",
    className: "dim",
    phone: "hide",
    cell: (of) =>
      of.repository ? (
        <span className="row">
          <Icon name="branch" small /> {of.repository.owner}/{of.repository.name}
        </span>
      ) : (
        <span className="faint">None</span>
      ),
  },
  { head: "Files", className: "num right", phone: "hide", cell: (of) => count(of.fileCount) },
  { head: "Size", className: "num right", phone: "hide", cell: (of) => bytes(of.bytes) },
  { head: "Changed", className: "dim num right", phone: "end", cell: (of) => <Time at={of.updatedAt} quiet /> },
];

/** ProjectsPage is what people and agents of the workspace work on together. */
export function ProjectsPage(): ReactNode {
  const { q } = useSearch({ strict: false }) as { q?: string };
  const list = useList("/api/workspaces/{username}/{business}/projects", { query: q ? { q: String(q) } : {}, every: 15_000 });
  const { why } = useMay("work");
  const navigate = useNavigate();
  const path = usePath();
  const [making, setMaking] = useState<readonly Chosen[]>();
  const picker = useRef<HTMLInputElement>(null);
  const find = (next: string): void => void navigate({ to: ".", search: (next ? { q: next } : {}) as never, replace: true });
  const make = (look: "primary" | "plain"): ReactNode => (
    <Button look={look} icon="plus" why={why} onClick={() => setMaking([])}>
      New project
    </Button>
  );
  const picked = (input: HTMLInputElement): void => {
    const files = pickedFiles(input.files, "");
    input.value = "";
    if (files.length > 0) setMaking(files);
  };
  const begin = (
    <>
      <Button look="primary" icon="upload" why={why} onClick={() => picker.current?.click()}>Upload files</Button>
      {make("plain")}
    </>
  );
  return (
    <Page title="Projects" acts={make("primary")}>
      {(q || (list.items?.length ?? 0) > 0) && <Search label="Find projects" placeholder="Name of a project" query={q ? String(q) : ""} onQuery={find} />}
      <DataList
        label="Projects"
        list={list}
        columns={columns}
        keyOf={(of) => of.id}
        onOpen={(of) => void navigate({ to: path(addressOf(of.slug)) })}
        onClear={q ? () => find("") : undefined}
        empty={
          <Empty icon="folder" title="A place for files" act={begin}>
            A project holds files that people and agents read and write. It can follow a repository.
          </Empty>
        }
      />
      <input ref={picker} type="file" multiple hidden aria-label="Files of a new project" onChange={(event) => picked(event.target)} />
      {making && <NewProject files={making} onClose={() => setMaking(undefined)} onMade={(slug) => void navigate({ to: path(addressOf(slug)) })} />}
    </Page>
  );
}
