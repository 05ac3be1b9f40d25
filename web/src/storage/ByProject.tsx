import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { bytes, count } from "../kit/amount";
import { Button } from "../kit/Button";
import { Meter } from "../kit/Meter";
import { Trouble } from "../kit/Refusal";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { place } from "../server/place";
import { usePath } from "../shell/where";
import { largestFirst, type Storage } from "./storage";

/** ByProject is what each project takes, the largest first, and the way to where it can be deleted. */
export function ByProject({ storage }: { storage: Storage }): ReactNode {
  // Platform holds what a workspace is set up with, and not its projects.
  const may = useMay("read").may && place.surface !== "platform";
  const list = useList("/api/workspaces/{username}/{business}/projects", { query: { limit: 200 }, when: may });
  const path = usePath();
  if (!may) return null;
  const projects = largestFirst(list.items ?? []);
  return (
    <section className="card" aria-labelledby="by-project">
      <header className="spaced">
        <h2 id="by-project">By project</h2>
      </header>
      {list.error && <Trouble error={list.error} onRetry={list.retry} />}
      {list.items?.length === 0 && <p className="none">No project holds a file yet.</p>}
      <ul className="kinds by-project">
        {projects.map((project) => (
          <li key={project.id}>
            <span className="grow">
              <Link className="link" to={path(`projects/${project.slug}/files`)}>{project.name}</Link>
              <small>{count(project.fileCount)} {project.fileCount === 1 ? "file" : "files"}</small>
            </span>
            <Meter label={`Share of ${project.name}`} value={project.bytes} most={storage.byKind.projects} />
            <span className="num right">{bytes(project.bytes)}</span>
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <div className="more">
          <span className="num">The newest {projects.length} are compared</span>
          <Button busy={list.loadingMore} onClick={list.more}>Load more</Button>
        </div>
      )}
    </section>
  );
}
