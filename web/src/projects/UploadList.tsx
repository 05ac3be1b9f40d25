import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { bytes, count } from "../kit/amount";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { useNow } from "../kit/Time";
import { usePath } from "../shell/where";
import { folderOf, nameOf } from "./path";
import { addressOf } from "./project";
import { refusedFor } from "./room";
import { again, drop, dropDone, secondsLeft, useUploads, type Upload } from "./uploads";

/** So many lines are shown; what waits behind them is counted. */
const most = 5;

/** UploadList is what is on its way into a project, what has arrived, and what could not. */
export function UploadList({ project, slug }: { project: string; slug: string }): ReactNode {
  const uploads = useUploads(project);
  if (uploads.length === 0) return null;
  const done = uploads.filter((upload) => upload.state === "done").length;
  const rest = uploads.filter((upload) => upload.state !== "done");
  const shown = rest.slice(0, most);
  return (
    <section className="ups" aria-label="Uploads">
      <header className="row">
        <span className="grow t12 dim num" role="status">
          {rest.length === 0 ? `${count(done)} ${done === 1 ? "file" : "files"} uploaded` : `Uploaded ${count(done)} of ${count(uploads.length)}`}
        </span>
        {rest.length === 0 && <Button look="ghost" small icon="x" label="Dismiss" onClick={() => dropDone(project)} />}
      </header>
      {shown.map((upload) => (
        <UploadLine key={upload.id} upload={upload} slug={slug} />
      ))}
      {rest.length > most && <p className="up faint t12 num">and {count(rest.length - most)} more</p>}
    </section>
  );
}

function UploadLine({ upload, slug }: { upload: Upload; slug: string }): ReactNode {
  const percent = upload.size === 0 ? 100 : Math.floor((upload.sent / upload.size) * 100);
  return (
    <div className="up">
      <span className="trunc" title={upload.path}>{nameOf(upload.path)}</span>
      <Button look="ghost" small icon="x" label={`${upload.state === "failed" || upload.state === "taken" ? "Dismiss" : "Cancel"} ${nameOf(upload.path)}`} onClick={() => drop(upload.id)} />
      {(upload.state === "sending" || upload.state === "waiting") && (
        <>
          <span className="meterline" role="progressbar" aria-label={`Upload of ${nameOf(upload.path)}`} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100}>
            <i className="live" style={{ width: `${percent}%` }} />
          </span>
          <Progress upload={upload} />
          <span className="faint t12 trunc">to {folderOf(upload.path) || slug}</span>
        </>
      )}
      {upload.state === "taken" && <Taken upload={upload} slug={slug} />}
      {upload.state === "failed" && upload.error && (
        <div className="up-wide">
          <p className="help bad" role="alert">
            <Icon name="warn" small /> <span>{refusedFor(upload.error)}</span>
          </p>
          <div className="row">
            <Button small onClick={() => again(upload.id)}>Try again</Button>
            {upload.error.status === 507 && <StorageLink />}
          </div>
        </div>
      )}
    </div>
  );
}

function Progress({ upload }: { upload: Upload }): ReactNode {
  const now = useNow(1_000);
  if (upload.state === "waiting") return <span className="faint t12 num">{bytes(upload.size)} · waiting</span>;
  const left = secondsLeft(upload, now.getTime());
  return (
    <span className="faint t12 num">
      {bytes(upload.sent)} of {bytes(upload.size)}
      {left !== undefined && left > 0 && ` · ${left < 90 ? `${left} s` : `${Math.round(left / 60)} min`} left`}
    </span>
  );
}

/** Taken asks before a file that is there already is replaced. */
function Taken({ upload, slug }: { upload: Upload; slug: string }): ReactNode {
  const to = usePath();
  return (
    <div className="up-wide">
      <p className="help warn" role="alert">
        <Icon name="warn" small />
        <span>
          <Link className="link" to={to(addressOf(slug, upload.path))}>{upload.path}</Link> is there already.
        </span>
      </p>
      <div className="row">
        <Button small onClick={() => again(upload.id, true)}>Replace it</Button>
        <Button small look="ghost" onClick={() => drop(upload.id)}>Skip</Button>
      </div>
    </div>
  );
}

function StorageLink(): ReactNode {
  const to = usePath();
  return (
    <Link className="link t12" to={to("storage")}>
      What takes the room
    </Link>
  );
}
