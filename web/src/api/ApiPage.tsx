import { useState, type ReactNode } from "react";
import "../look/api.css";
import { Button } from "../kit/Button";
import { CopyButton } from "../kit/CodeSample";
import { isMany, Search } from "../kit/Search";
import { place } from "../server/place";
import { useList, useRead } from "../server/read";
import { allows, useHere, useMay } from "../server/role";
import { apiOf, useWorkspace } from "../server/workspace";
import { Page } from "../shell/Page";
import type { KeyItem } from "./key";
import { KeyList } from "./KeyList";
import { KeyMade, type Made } from "./KeyMade";
import { NewKey } from "./NewKey";
import { RevokeKey, RotateKey } from "./KeyDialogs";
import { Snippet } from "./Snippet";
import { Webhooks } from "./Webhooks";

type Asking = { what: "new" } | { what: "rotate" | "revoke"; key: KeyItem } | { what: "made" };

/** ApiPage is how programs come in: the address, the keys, and programs that run as they are copied. */
export function ApiPage(): ReactNode {
  const workspace = useWorkspace();
  const [query, setQuery] = Search.useQuery();
  const keys = useList("/api/workspaces/{username}/{business}/keys", { query: { q: query || undefined } });
  const { why } = useMay("manage");
  const [asking, setAsking] = useState<Asking>();
  const [made, setMade] = useState<Made>();
  const agent = useAgent();
  const base = apiOf(workspace);
  const close = (): void => setAsking(undefined);
  const show = (next: Made): void => {
    setMade(next);
    setAsking({ what: "made" });
  };
  const acts = (
    <>
      <a className="btn ghost desk" href="/api/openapi.json">OpenAPI</a>
      <Button look="primary" icon="plus" why={why} onClick={() => setAsking({ what: "new" })}>New key</Button>
    </>
  );
  return (
    <Page title="API" beside={keys.items && !query && !keys.hasMore && <span className="faint t13 desk num">{keys.items.length} {keys.items.length === 1 ? "key" : "keys"}</span>} acts={acts}>
      <div className="body api">
        <div className="base">
          <div className="label">Base address</div>
          <div className="copyline">
            <span className="mono grow trunc">{base}</span>
            <CopyButton text={base} label="Copy the base address">Copy</CopyButton>
          </div>
        </div>
        {isMany(keys, query) && <Search label="Name of a key" placeholder="Name" query={query} onQuery={setQuery} />}
        <KeyList
          keys={keys}
          selected={made?.id}
          onClear={query ? () => setQuery("") : undefined}
          onNew={() => setAsking({ what: "new" })}
          onRotate={(key) => setAsking({ what: "rotate", key })}
          onRevoke={(key) => setAsking({ what: "revoke", key })}
        />
        {keys.items && <Snippet base={base} agent={agent} made={made} />}
        <Webhooks base={base} />
      </div>
      {asking?.what === "new" && <NewKey onClose={close} onMade={show} />}
      {asking?.what === "rotate" && <RotateKey of={asking.key} onClose={close} onMade={show} />}
      {asking?.what === "revoke" && <RevokeKey of={asking.key} onClose={close} onRevoked={() => made?.id === asking.key.id && setMade(undefined)} />}
      {asking?.what === "made" && made && <KeyMade made={made} onClose={close} />}
    </Page>
  );
}

/** useAgent is whom the programs talk to: central where keys reach it, else the first agent that they reach. */
function useAgent(): string {
  const { facts } = useHere();
  const readable = place.surface !== "platform" && allows(facts?.role, "read");
  const agents = useRead("/api/workspaces/{username}/{business}/agents", { query: { limit: 200 }, when: readable }).data?.items;
  const reached = agents?.filter((agent) => agent.exposed && agent.enabled && !agent.shadowed).map((agent) => agent.name) ?? [];
  return reached.includes("central") ? "central" : (reached[0] ?? "central");
}
