import { useState, type ReactNode } from "react";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import "../look/projects.css";
import { bytes, count } from "../kit/amount";
import { Icon } from "../kit/Icon";
import { Menu } from "../kit/Menu";
import { Meter } from "../kit/Meter";
import { Refusal, Trouble } from "../kit/Refusal";
import { useList, useRead } from "../server/read";
import { isStaffs, useWorkspace } from "../server/workspace";
import { Page } from "../shell/Page";
import { usePath } from "../shell/where";
import { AccessTab } from "./AccessTab";
import { DeleteProject } from "./DeleteProject";
import { EditProject } from "./EditProject";
import { FilesTab } from "./FilesTab";
import { liveness } from "./files";
import { addressOf, sizeOf, type Project } from "./project";
import { ProjectActs, type Asking } from "./ProjectActs";
import { RepositoryTab } from "./RepositoryTab";
import { tabIn } from "./tab";

/** ProjectPage is one project: its files, the repository that it follows, and who may work on it. */
export function ProjectPage(): ReactNode {
  const { slug = "", _splat = "" } = useParams({ strict: false }) as { slug?: string; _splat?: string };
  const { tab, rest } = tabIn(_splat);
  const path = usePath();
  const { data, error, refetch } = useRead("/api/workspaces/{username}/{business}/projects/{slug}", { path: { slug }, every: liveness });
  const [asking, setAsking] = useState<Asking>();
  const navigate = useNavigate();
  const above = { title: "Projects", to: path("projects"), near: rest ? { title: "the files", to: path(addressOf(slug)) } : undefined };
  const thing = [rest, tab === "repository" ? "Repository" : tab === "access" ? "Access" : "", data?.name ?? slug].filter(Boolean).join(" · ");
  if (!data || !tab) {
    return (
      <Page title="Projects" heading={slug} thing={slug} above={above}>
        {error ? <Refusal error={error} onRetry={() => void refetch()} /> : tab ? <Loading /> : <NoTab />}
      </Page>
    );
  }
  const close = (): void => setAsking(undefined);
  return (
    <Page title="Projects" heading={data.name} thing={thing} above={above} beside={<Beside project={data} path={rest} />} acts={<ProjectActs project={data} path={rest} onAsk={setAsking} />}>
      {error && <Trouble error={error} stale onRetry={() => void refetch()} />}
      <ProjectTabs project={data} tab={tab} hidden={rest !== ""} />
      {tab === "files" && <FilesTab key={slug} project={data} path={rest} asking={asking} onAsked={close} />}
      {tab === "repository" && <RepositoryTab project={data} />}
      {tab === "access" && <AccessTab project={data} />}
      {asking === "edit" && <EditProject project={data} onClose={close} />}
      {asking === "delete" && <DeleteProject project={data} onClose={close} onDeleted={() => void navigate({ to: path("projects") })} />}
    </Page>
  );
}

/** Beside is the way to other projects, and how much this one holds. */
function Beside({ project, path }: { project: Project; path: string }): ReactNode {
  const others = useList("/api/workspaces/{username}/{business}/projects");
  const storage = useRead("/api/workspaces/{username}/{business}/storage", { every: 30_000 }).data;
  const to = usePath();
  const navigate = useNavigate();
  const items = (others.items ?? []).map((other) => ({ label: other.name, note: sizeOf(other), ticked: other.slug === project.slug, onSelect: () => void navigate({ to: to(addressOf(other.slug)) }) }));
  return (
    <>
      <Menu label="Choose a project" bare className="btn ghost sm icon desk" button={<Icon name="updown" small />} groups={[{ items }]} />
      <span className="faint num t13 desk nowrap">{sizeOf(project)}</span>
      {path && <span className="mobile crumb trunc">/ {path.split("/").join(" / ")}</span>}
      {storage && (
        <span className="row desk quota">
          <Meter label="Room of the workspace that is used" value={storage.usedBytes} most={storage.limitBytes} tone={storage.state === "ok" ? "" : storage.state === "warning" ? "warn" : "bad"} />
          <Link className="faint num t12 trunc" to={to("storage")}>
            {bytes(storage.usedBytes)} of {bytes(storage.limitBytes)}, workspace
          </Link>
        </span>
      )}
    </>
  );
}

function ProjectTabs({ project, tab, hidden }: { project: Project; tab: string; hidden: boolean }): ReactNode {
  const to = usePath();
  const workspace = useWorkspace();
  const at = (name: string): { to: string; "aria-current": "page" | undefined } => ({ to: to(`projects/${project.slug}/${name}`), "aria-current": tab === name ? "page" : undefined });
  const repository = project.repository;
  return (
    <nav className={hidden ? "tabs desk" : "tabs"} aria-label="Project">
      <Link {...at("files")}>
        Files <span className="faint num">{count(project.fileCount)}</span>
      </Link>
      <Link {...at("repository")}>
        Repository {repository && <span className="faint trunc">{`${repository.owner}/${repository.name}`}</span>}
      </Link>
      {!isStaffs(workspace) && <Link {...at("access")}>Access</Link>}
    </nav>
  );
}

function NoTab(): ReactNode {
  return (
    <div className="empty">
      <h2>Not here, or not yours.</h2>
    </div>
  );
}

/** Loading is the page as it will stand. */
function Loading(): ReactNode {
  return (
    <div className="split duo listing wait" role="status" aria-label="Loading the project">
      <div className="col tree-col">
        <div className="tree">
          {[46, 62, 54, 70, 40].map((width) => (
            <span key={width} className="tree-line">
              <span className="skeleton" style={{ width: `${width}%` }} />
            </span>
          ))}
        </div>
      </div>
      <div className="col file" />
    </div>
  );
}
