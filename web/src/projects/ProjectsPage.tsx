import { useState, type ReactNode } from "react";
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
import { FindBy } from "./FindBy";
import { NewProject } from "./NewProject";
import { addressOf, type Project } from "./project";

const columns: readonly Column<Project>[] = [
  {
    head: "Project",
    cell: (of) => (
      <>
        <b>{of.name}</b>
        <small>{of.description || of.slug}</small>
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
  { head: "Files", className: "num", phone: "hide", cell: (of) => count(of.fileCount) },
  { head: "Size", className: "num", phone: "end", cell: (of) => bytes(of.bytes) },
  { head: "Changed", className: "dim num", cell: (of) => <Time at={of.updatedAt} quiet /> },
];

/** ProjectsPage is what people and agents of the workspace work on together. */
export function ProjectsPage(): ReactNode {
  const { q } = useSearch({ strict: false }) as { q?: string };
  const list = useList("/api/workspaces/{username}/{business}/projects", { query: q ? { q: String(q) } : {}, every: 15_000 });
  const { why } = useMay("work");
  const navigate = useNavigate();
  const path = usePath();
  const [making, setMaking] = useState(false);
  const find = (next: string): void => void navigate({ to: ".", search: (next ? { q: next } : {}) as never, replace: true });
  const make = (
    <Button look="primary" icon="plus" why={why} onClick={() => setMaking(true)}>
      New project
    </Button>
  );
  return (
    <Page title="Projects" acts={make}>
      {(q || (list.items?.length ?? 0) > 0) && <FindBy label="Find projects" placeholder="Name of a project" value={q ? String(q) : ""} onFind={find} />}
      <DataList
        label="Projects"
        list={list}
        columns={columns}
        keyOf={(of) => of.id}
        onOpen={(of) => void navigate({ to: path(addressOf(of.slug)) })}
        onClear={q ? () => find("") : undefined}
        empty={
          <Empty icon="folder" title="A place for files" act={<Button look="primary" icon="plus" why={why} onClick={() => setMaking(true)}>New project</Button>}>
            A project holds files that people and agents read and write. It can follow a repository.
          </Empty>
        }
      />
      {making && <NewProject onClose={() => setMaking(false)} onMade={(slug) => void navigate({ to: path(addressOf(slug)) })} />}
    </Page>
  );
}
