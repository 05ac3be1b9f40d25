import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { AnswerOf } from "@svc/sdk";
import { count } from "../kit/amount";
import { Button } from "../kit/Button";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Icon } from "../kit/Icon";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { usePath } from "../shell/where";
import { ChangedHere } from "./ChangedHere";
import { ConnectRepository } from "./ConnectRepository";
import { addressOf, type Project } from "./project";
import { isPulling, Pulling } from "./Pulling";
import { RepositoryTrouble } from "./RepositoryTrouble";
import { useMayWork } from "./role";

type Pulled = AnswerOf<"/api/workspaces/{username}/{business}/projects/{slug}/pull", "post">;

/** RepositoryTab is what a project follows, and how far. */
export function RepositoryTab({ project }: { project: Project }): ReactNode {
  return (
    <div className="body repo">
      <div>{project.repository ? <Followed project={project} repository={project.repository} /> : <ConnectRepository project={project} />}</div>
    </div>
  );
}

function Followed({ project, repository }: { project: Project; repository: NonNullable<Project["repository"]> }): ReactNode {
  const { why } = useMayWork(project.slug);
  const pull = useAct("post", "/api/workspaces/{username}/{business}/projects/{slug}/pull", { refreshes: ["/api/workspaces/{username}/{business}/storage"] });
  const [done, setDone] = useState<Pulled>();
  const [asking, setAsking] = useState<"change" | "disconnect">();
  const run = async (): Promise<void> => {
    setDone(undefined);
    const pulled = await pull.run({ path: { slug: project.slug } });
    if (pulled) setDone(pulled.answer);
  };
  const running = pull.busy || isPulling(project);
  return (
    <>
      <section className="card" aria-labelledby="followed">
        <header className="repo-head">
          <span className="project-glyph"><Icon name="branch" /></span>
          <h2 id="followed">
            {repository.owner}/{repository.name}
            <small>{repository.branch ? `branch ${repository.branch}` : "its default branch"} · {repository.provider === "github" ? "GitHub" : repository.provider}</small>
          </h2>
          <Button why={why ?? (running ? "Wait for the pull to end" : undefined)} onClick={() => setAsking("change")}>Change branch</Button>
          <Button look="primary" icon="pull" busy={running} why={why} onClick={() => void run()}>{running ? "Pulling" : "Pull"}</Button>
        </header>
        {running && <Pulling project={project} />}
        {pull.error && !running && <RepositoryTrouble error={pull.error} onRetry={() => void run()} />}
        {done && <Outcome done={done} slug={project.slug} />}
        <dl className="figs num">
          <div><dt>Last pull</dt><dd>{project.pulled ? <Time at={project.pulled.at} /> : "Never"}</dd></div>
          <div><dt>Commit</dt><dd className="mono">{project.pulled ? project.pulled.commit.slice(0, 7) : "–"}</dd></div>
          <div><dt>Conflicts</dt><dd>{project.pulled?.conflicts ? `${count(project.pulled.conflicts)} ${project.pulled.conflicts === 1 ? "file" : "files"} changed here and there` : "None"}</dd></div>
          <div><dt>Files</dt><dd>{count(project.fileCount)}</dd></div>
        </dl>
      </section>
      {project.pulled && <ChangedHere slug={project.slug} />}
      <div className="row">
        <span className="faint t12 grow">Disconnecting keeps every file here.</span>
        <Button look="danger" why={why ?? (running ? "Wait for the pull to end" : undefined)} onClick={() => setAsking("disconnect")}>Disconnect…</Button>
      </div>
      {asking === "change" && <ConnectRepository project={project} change onClose={() => setAsking(undefined)} />}
      {asking === "disconnect" && <Disconnect project={project} name={`${repository.owner}/${repository.name}`} onClose={() => setAsking(undefined)} />}
    </>
  );
}

/** Outcome is what a pull did, and what it left as it was. */
function Outcome({ done, slug }: { done: Pulled; slug: string }): ReactNode {
  const to = usePath();
  const nothing = done.written === 0 && done.deleted === 0;
  return (
    <div className="repo-now" role="status">
      <p className="row">
        <Tag tone="ok">Pulled</Tag>
        <span>
          <span className="mono">{done.commit.slice(0, 7)}</span>: {nothing ? "nothing new" : `${count(done.written)} written, ${count(done.deleted)} deleted`}
        </span>
      </p>
      {done.conflictCount > 0 && (
        <>
          <p className="help warn"><Icon name="warn" small /> {done.conflictCount === 1 ? "One file was" : `${count(done.conflictCount)} files were`} changed here and there. What is here stays.</p>
          <ul className="checks">
            {done.conflicts.map((path) => (
              <li key={path}><Icon name="file" small /><span className="trunc">{path}</span><Link className="btn ghost sm" to={to(addressOf(slug, path))}>Open</Link></li>
            ))}
          </ul>
        </>
      )}
      {done.skipCount > 0 && (
        <details>
          <summary className="help">{done.skipCount === 1 ? "One entry" : `${count(done.skipCount)} entries`} of the repository cannot be files here</summary>
          <ul className="checks">
            {done.skipped.map((skip) => (
              <li key={skip.path}><Icon name="file" small /><span className="trunc">{skip.path}</span><span className="faint t12">{skip.reason}</span></li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Disconnect({ project, name, onClose }: { project: Project; name: string; onClose: () => void }): ReactNode {
  const end = useAct("delete", "/api/workspaces/{username}/{business}/projects/{slug}/repository");
  const toast = useToast();
  const confirm = async (): Promise<void> => {
    if (!(await end.run({ path: { slug: project.slug } }))) return;
    toast({ tone: "ok", text: "Disconnected. The files stay." });
    onClose();
  };
  return (
    <ConfirmByName act="Disconnect" name={name} busy={end.busy} error={end.error} onConfirm={() => void confirm()} onClose={onClose}>
      The project follows this repository no more. Every file stays; which commit they came from is forgotten.
    </ConfirmByName>
  );
}
