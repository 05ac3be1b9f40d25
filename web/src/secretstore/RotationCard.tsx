import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { count } from "../kit/amount";
import { Meter } from "../kit/Meter";
import { useRead } from "../server/read";
import { rotationOf } from "./rotation";

/** RotationCard is how far the secret store is, among what health shows. */
export function RotationCard(): ReactNode {
  const { data } = useRead("/api/admin/secret-store", { every: 10_000 });
  const rotation = data && rotationOf(data);
  return (
    <section className="card" aria-label="Secret store">
      <header>
        <h2>Secret store</h2>
        <Link className="link t13" to="/settings/secret-store">Open keys</Link>
      </header>
      <div className="rot">
        {rotation ? <Progress rotation={rotation} active={data.activeKid} /> : <span className="skeleton" />}
      </div>
    </section>
  );
}

/** Progress says whether everything is under the active key, and how far it is if not. */
export function Progress({ rotation, active }: { rotation: ReturnType<typeof rotationOf>; active: string }): ReactNode {
  const percent = rotation.all === 0 ? 100 : Math.floor((rotation.moved / rotation.all) * 100);
  return (
    <>
      <div className="row">
        <span className="grow">
          {rotation.left > 0 ? "Moving to " : "Everything is under "}
          <span className="mono">{active}</span>
        </span>
        <span className={rotation.left > 0 ? "num w55 live" : "num w55"}>{percent} %</span>
      </div>
      <Meter label="Under the active key" value={rotation.all === 0 ? 1 : rotation.moved} most={rotation.all || 1} tone={rotation.left > 0 ? "live" : ""} />
      <div className="row faint t12 num">{`${count(rotation.moved)} of ${count(rotation.all)} values`}</div>
    </>
  );
}
