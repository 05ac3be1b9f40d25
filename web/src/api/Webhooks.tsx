import type { ReactNode } from "react";
import { CopyButton } from "../kit/CodeSample";
import { place } from "../server/place";
import { useRead } from "../server/read";
import { allows, useHere } from "../server/role";

/** Webhooks are the addresses by which programs reach the channels of the operator's project. Where there is none, nothing is shown. */
export function Webhooks({ base }: { base: string }): ReactNode {
  const { facts } = useHere();
  const readable = place.surface !== "platform" && allows(facts?.role, "read");
  const channels = useRead("/api/workspaces/{username}/{business}/channels", { query: { limit: 200 }, when: readable }).data?.items;
  const routes = (channels ?? []).filter(({ source }) => source === "project").flatMap(({ name, routes }) => routes.map((route) => ({ ...route, name })));
  if (routes.length === 0) return null;
  return (
    <section className="card hooks" aria-labelledby="webhooks">
      <header><h2 id="webhooks">Webhooks</h2><span className="faint t12">From the project</span></header>
      <p className="help">Channels check who calls by themselves: a provider needs no key.</p>
      <ul>
        {routes.map(({ name, method, path }) => (
          <li key={`${method} ${path}`}>
            <b>{name}</b>
            <span className="mono grow">{method} {base + path}</span>
            <CopyButton text={base + path} label={`Copy the address of ${name}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}
