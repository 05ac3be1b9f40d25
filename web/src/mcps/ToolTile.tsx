import { useState, type ReactNode } from "react";
import { Sheet } from "../kit/Dialog";
import { JsonView } from "../kit/JsonView";
import { sentenceOf } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { Switch } from "../kit/Switch";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useMay } from "../server/role";
import type { ServerDetail, Tool } from "./server";

/** ToolTile is a tool with its switch. Its name opens what it is asked with. */
export function ToolTile({ server, tool }: { server: Pick<ServerDetail, "id" | "name">; tool: Tool }): ReactNode {
  const [open, setOpen] = useState(false);
  const change = useAct("patch", "/api/workspaces/{username}/{business}/mcps/{mcp}/tools/{tool}", { refreshes: ["/api/workspaces/{username}/{business}/tools"] });
  const { why } = useMay("manage");
  const toast = useToast();
  // What was asked for shows at once; the answer confirms it.
  const [asked, setAsked] = useState<boolean>();
  const flip = async (enabled: boolean): Promise<void> => {
    setAsked(enabled);
    const done = await change.run({ path: { mcp: server.id, tool: tool.name }, body: { enabled } });
    setAsked(undefined);
    if (!done) toast({ tone: "bad", text: `${tool.name} was not switched.` });
  };
  return (
    <div>
      <span className="grow">
        <span className="row tight">
          <button type="button" className="mono link-name trunc" onClick={() => setOpen(true)}>{tool.name}</button>
          {tool.changed && <Tag tone="warn" plain>Changed</Tag>}
          {tool.new && <Tag tone="warn" plain>New</Tag>}
          {tool.destructive && <Tag tone="bad">Destructive</Tag>}
        </span>
        <small className="trunc">{tool.description || "It says nothing of itself."}</small>
        {change.error && <small className="bad" role="alert">{sentenceOf(change.error)}</small>}
      </span>
      <Switch bare label={tool.name} on={asked ?? tool.enabled} busy={change.busy} why={why} onChange={(on) => void flip(on)} />
      {open && (
        <Sheet title={tool.name} onClose={() => setOpen(false)}>
          <section>
            <p className="purpose">{tool.description || "It says nothing of itself."}</p>
          </section>
          <section>
            <h3>Agents call it</h3>
            <p className="mono t13">{server.name}__{tool.name}</p>
          </section>
          <section>
            <h3>What it is asked with</h3>
            <JsonView value={tool.inputSchema} label="Input schema" />
          </section>
        </Sheet>
      )}
    </div>
  );
}
