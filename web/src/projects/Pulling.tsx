import { type ReactNode } from "react";
import { count } from "../kit/amount";
import { Meter } from "../kit/Meter";
import type { Project } from "./project";

/** isPulling reports whether a pull of a project runs, whoever began it. One that was not heard of for too long has died. */
export function isPulling(project: Pick<Project, "pulling">, now = Date.now()): boolean {
  return project.pulling !== undefined && new Date(project.pulling.until).getTime() > now;
}

/** Pulling is how far a pull is. Until it knows how much there is to do, it only says that it is at it. */
export function Pulling({ project }: { project: Project }): ReactNode {
  const { done, total } = project.pulling ?? { done: 0, total: 0 };
  const known = total > 0;
  const percent = known ? Math.floor((done / total) * 100) : 0;
  return (
    <div className="repo-now" role="status">
      <div className="row">
        <span className="grow">{known ? `Pulling, ${count(done)} of ${count(total)} ${total === 1 ? "file" : "files"}` : "Pulling, looking what is new"}</span>
        {known && <span className="num w55 live">{percent} %</span>}
      </div>
      {known ? <Meter label="Pull" value={done} most={total} tone="live" /> : <span className="meterline endless" role="progressbar" aria-label="Pull"><i className="live" /></span>}
      <p className="help">Files stay readable. A file that you or an agent changed here is kept.</p>
    </div>
  );
}
