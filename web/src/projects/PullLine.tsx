import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Icon } from "../kit/Icon";
import { Time } from "../kit/Time";
import { usePath } from "../shell/where";
import type { Project } from "./project";

/** PullLine is how far a project has followed its repository, below its tree. */
export function PullLine({ project }: { project: Project }): ReactNode {
  const to = usePath();
  const { repository, pulled } = project;
  if (!repository) return null;
  return (
    <div className="statusbar pull-line">
      <Icon name="branch" small />
      <span className="grow trunc">
        {repository.branch || "default branch"} · {pulled ? <>pulled <Time at={pulled.at} /></> : "not pulled yet"}
      </span>
      <Link className="link w5" to={to(`projects/${project.slug}/repository`)}>
        Pull
      </Link>
    </div>
  );
}
