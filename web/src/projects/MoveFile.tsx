import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { call } from "../server/call";
import { useAct } from "../server/act";
import { useServer, useWorkspace } from "../server/workspace";
import { moveDraft } from "./draft";
import { useContentAddress } from "./files";
import { problemOf } from "./path";
import type { Entry } from "./tree";

export interface MoveFileProps {
  slug: string;
  entry: Entry;
  onClose: () => void;
  onMoved: (path: string) => void;
}

/** MoveFile gives a file another path, which nothing may have. It can be undone as long as its toast stands. */
export function MoveFile({ slug, entry, onClose, onMoved }: MoveFileProps): ReactNode {
  const move = useAct("post", "/api/workspaces/{username}/{business}/projects/{slug}/move");
  const client = useServer();
  const workspace = useWorkspace();
  const address = useContentAddress(slug);
  const toast = useToast();
  const [to, setTo] = useState(entry.path);
  const [problem, setProblem] = useState<string>();
  const taken = move.error?.type === "name_taken" ? move.error.details || "Something has this path already." : undefined;
  const moved = (from: string, path: string): void => {
    moveDraft(address(from), address(path));
    onMoved(path);
  };
  const undo = (): void =>
    void call(client, workspace, "post", "/api/workspaces/{username}/{business}/projects/{slug}/move", { path: { slug }, body: { from: to.trim(), to: entry.path } }).then(
      () => moved(to.trim(), entry.path),
      () => toast({ tone: "bad", text: "It could not be moved back." }),
    );
  const send = async (): Promise<void> => {
    const wrong = problemOf(to.trim());
    setProblem(wrong);
    if (wrong) return;
    const done = await move.run({ path: { slug }, body: { from: entry.path, to: to.trim() } });
    if (!done) return;
    toast({ tone: "ok", text: `Moved to ${to.trim()}.`, undo });
    onClose();
    moved(entry.path, to.trim());
  };
  return (
    <Dialog
      title="Move file"
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={move.busy} why={to.trim() === entry.path ? "It is there already" : undefined}>Move</Button>
        </>
      }
    >
      {move.error && !taken && <Trouble error={move.error} />}
      <Field label="Path" className="mono" value={to} onChange={(event) => setTo(event.target.value)} error={problem ?? taken} help="Another name renames it; another folder moves it." autoComplete="off" autoCapitalize="off" spellCheck={false} autoFocus />
    </Dialog>
  );
}
