import { useState, type ReactNode } from "react";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { SvcError } from "@svc/sdk";
import "../look/mcps.css";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { Refusal, Trouble } from "../kit/Refusal";
import { Search } from "../kit/Search";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { Page } from "../shell/Page";
import { usePath } from "../shell/where";
import { AddServer } from "./AddServer";
import { McpRow } from "./McpRow";
import { found, groups, type Server } from "./server";

/** An address of a server that was deleted, or never was. */
const gone = new SvcError({ status: 404, type: "item_not_found", message: "This server is not here, or not yours." });

/** McpsPage is the MCP servers of a workspace: how each does, and which of its tools agents may use. */
export function McpsPage(): ReactNode {
  const { id } = useParams({ strict: false }) as { id?: string };
  const { q = "", error: said } = useSearch({ strict: false }) as { q?: string; error?: string };
  const [adding, setAdding] = useState(false);
  const list = useList("/api/workspaces/{username}/{business}/mcps", { query: { limit: 200 }, every: 15_000 });
  const navigate = useNavigate();
  const path = usePath();
  const { why } = useMay("manage");
  const all = list.items ?? [];
  const shown = found(all, q);
  const open = all.find((server) => server.id === id);
  const filter = (next: string): void => void navigate({ to: ".", search: (next ? { q: next } : {}) as never, replace: true });
  const sum = (of: (server: Server) => number): number => all.reduce((total, server) => total + of(server), 0);
  const add = <Button look="primary" icon="plus" why={why} onClick={() => setAdding(true)}>Add server</Button>;
  return (
    <Page
      title="MCPs"
      thing={open?.name}
      beside={all.length > 0 && <span className="faint t13 trunc desk">{all.length === 1 ? "1 server" : `${all.length} servers`} · {sum((server) => server.enabledCount)} of {sum((server) => server.toolCount)} tools on</span>}
      acts={
        <>
          {all.length > 0 && <span className="desk"><Search bare label="Server or address" query={q} onQuery={filter} /></span>}
          {all.length > 0 && <CheckAll servers={all} why={why} />}
          {add}
        </>
      }
    >
      {list.error && list.items && <Trouble error={list.error} stale onRetry={list.retry} />}
      {!list.items ? list.error ? <Refusal error={list.error} onRetry={list.retry} /> : <Loading /> : (
        <div className="body list">
          {all.length === 0 && <Empty icon="mcp" title="Tools from elsewhere" act={add}>An MCP server offers tools to agents: a tracker, a search, your own programs. Add one by its address, and choose which of its tools are on.</Empty>}
          {all.length > 0 && shown.length === 0 && <Empty icon="search" title="Nothing matches" act={<Button onClick={() => filter("")}>Clear the filter</Button>} />}
          {id !== undefined && list.items && !open && <Trouble error={gone} />}
          {groups.map((group) => {
            const servers = shown.filter((server) => group.has.includes(server.status));
            return servers.length > 0 && (
              <section key={group.name} aria-label={group.name}>
                <h2>{group.name} <span>{servers.length}</span></h2>
                {servers.map((server) => <McpRow key={server.id} server={server} open={server.id === id} denied={server.id === id && said === "access_denied"} />)}
              </section>
            );
          })}
        </div>
      )}
      {adding && <AddServer taken={all.map((server) => server.name)} onClose={() => setAdding(false)} onAdded={(made) => { setAdding(false); void navigate({ to: path(`mcps/${made}`) }); }} />}
    </Page>
  );
}

/** CheckAll looks at every server, one after the other, and says what came of it. */
function CheckAll({ servers, why }: { servers: readonly Server[]; why: string | undefined }): ReactNode {
  const test = useAct("post", "/api/workspaces/{username}/{business}/mcps/{mcp}/test");
  const [at, setAt] = useState<number>();
  const toast = useToast();
  const check = async (): Promise<void> => {
    let well = 0;
    for (const [i, server] of servers.entries()) {
      setAt(i);
      const done = await test.run({ path: { mcp: server.id } });
      if (done?.answer.result === "ok") well++;
    }
    setAt(undefined);
    toast({ tone: well === servers.length ? "ok" : "bad", text: well === servers.length ? (well === 1 ? "The server answers." : `All ${well} servers answer.`) : `${well} of ${servers.length} servers answer.` });
  };
  return <Button icon="redo" className="desk" why={why} busy={at !== undefined} onClick={() => void check()}>{at === undefined ? "Check all" : `${at + 1} of ${servers.length}`}</Button>;
}

function Loading(): ReactNode {
  return (
    <div className="body list wait" role="status" aria-label="Loading MCP servers">
      <h2><span className="skeleton" style={{ width: 72 }} /></h2>
      {[0, 1, 2].map((row) => (
        <div key={row} className="mcp"><span className="skeleton" style={{ width: "60%" }} /><span className="skeleton" /><span className="skeleton" style={{ width: "50%" }} /><span className="skeleton" /><span /><span /></div>
      ))}
    </div>
  );
}
