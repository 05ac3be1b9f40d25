import type { ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Dialog } from "../kit/Dialog";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { usePath } from "../shell/where";
import type { ServerDetail } from "./server";
import { UsedBy } from "./ToolBox";

/** DeleteServer forgets a server that no agent uses. Of one that is used it says by whom. */
export function DeleteServer({ server, onClose }: { server: ServerDetail; onClose: () => void }): ReactNode {
  const remove = useAct("delete", "/api/workspaces/{username}/{business}/mcps/{mcp}", { refreshes: ["/api/workspaces/{username}/{business}/tools"] });
  const navigate = useNavigate();
  const path = usePath();
  const toast = useToast();
  if (server.usedBy.length > 0) {
    return (
      <Dialog title={`${server.name} is in use`} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
        <p>Agents that have its tools would lose them without a word, so it stays. Take it away from them first.</p>
        <UsedBy names={server.usedBy} />
      </Dialog>
    );
  }
  const confirm = async (): Promise<void> => {
    if (!(await remove.run({ path: { mcp: server.id } }))) return;
    onClose();
    toast({ tone: "ok", text: `${server.name} is gone, and its credential with it.` });
    void navigate({ to: path("mcps"), replace: true });
  };
  return (
    <ConfirmByName act="Delete server" name={server.name} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
      Its tools leave the checklists of agents, and its credential is destroyed.
    </ConfirmByName>
  );
}
