import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { count } from "../kit/amount";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { Time } from "../kit/Time";
import { useList } from "../server/read";
import { usePath } from "../shell/where";
import { addressOf, authorOf } from "./project";

const words = { added: "added", changed: "changed", deleted: "deleted here" } as const;

/** ChangedHere is what people and agents did to the files since the last pull: the branch does not have it. */
export function ChangedHere({ slug }: { slug: string }): ReactNode {
  const list = useList("/api/workspaces/{username}/{business}/projects/{slug}/changes", { path: { slug }, every: 15_000 });
  const to = usePath();
  if (!list.items) return list.error ? <Trouble error={list.error} onRetry={list.retry} /> : null;
  return (
    <section className="card" aria-labelledby="changed">
      <header className="spaced">
        <h2 id="changed">Changed here, not in the branch</h2>
        <span className="faint t12 num">{list.hasMore ? `${count(list.items.length)}+` : count(list.items.length)}</span>
      </header>
      {list.error && <Trouble error={list.error} stale onRetry={list.retry} />}
      {list.items.length === 0 && <p className="none help">Every file is as the last pull left it.</p>}
      <ul className="checks">
        {list.items.map((file) => (
          <li key={file.path}>
            <Icon name="file" small className="dim" />
            <span className="trunc">
              {file.path} <span className="faint">{words[file.how]}{authorOf(file) && ` by ${authorOf(file)}`}{file.updatedAt && <>, <Time at={file.updatedAt} quiet /></>}</span>
            </span>
            {file.how === "deleted" ? <span /> : <Link className="btn ghost sm" to={to(addressOf(slug, file.path))}>Open</Link>}
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <div className="more">
          <span />
          <Button busy={list.loadingMore} onClick={list.more}>Load more</Button>
        </div>
      )}
    </section>
  );
}
