import { useRef, type ReactNode } from "react";
import { count } from "../kit/amount";
import { useNow } from "../kit/Time";
import type { Project } from "./project";

/** Pulling is a pull on its way. The service tells its end; until then the files that have come so far are counted. */
export function Pulling({ project }: { project: Project }): ReactNode {
  const begun = useRef({ at: Date.now(), files: project.fileCount });
  const now = useNow(1_000);
  const come = project.fileCount - begun.current.files;
  const seconds = Math.max(0, Math.round((now.getTime() - begun.current.at) / 1000));
  return (
    <div className="repo-now" role="status">
      <div className="row">
        <span className="grow">Pulling{come > 0 && `, ${count(come)} new ${come === 1 ? "file" : "files"} so far`}</span>
        <span className="num live">{seconds} s</span>
      </div>
      <span className="meterline endless" role="progressbar" aria-label="Pull"><i className="live" /></span>
      <p className="help">Files stay readable. A file that you or an agent changed here is kept.</p>
    </div>
  );
}
