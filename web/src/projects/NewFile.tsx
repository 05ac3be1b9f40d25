import { useState, type ReactNode } from "react";
import { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { writeContent } from "../server/content";
import { useBound } from "./bound";
import { problemOf } from "./path";
import { refusedFor } from "./room";

export interface NewFileProps {
  slug: string;
  folder: string;
  onClose: () => void;
  onMade: (path: string) => void;
}

/** NewFile makes an empty file. Folders come with its path. */
export function NewFile({ slug, folder, onClose, onMade }: NewFileProps): ReactNode {
  const bound = useBound(slug);
  const [path, setPath] = useState(folder === "" ? "" : `${folder}/`);
  const [told, setTold] = useState<string>();
  const [busy, setBusy] = useState(false);
  const make = async (): Promise<void> => {
    const problem = problemOf(path.trim());
    setTold(problem);
    if (problem || busy) return;
    setBusy(true);
    try {
      await writeContent({ address: bound.addressOf(path.trim()), body: new Blob([]), condition: "new" });
      bound.onArrival();
      onClose();
      onMade(path.trim());
    } catch (thrown) {
      setTold(refusal(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="New file"
      onClose={onClose}
      onSubmit={() => void make()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={busy}>Create file</Button>
        </>
      }
    >
      <Field label="Path" className="mono" value={path} onChange={(event) => setPath(event.target.value)} error={told} help="With slashes for folders: notes/today.md" autoComplete="off" autoCapitalize="off" spellCheck={false} autoFocus />
    </Dialog>
  );
}

function refusal(thrown: unknown): string {
  if (!(thrown instanceof SvcError)) return "Something went wrong on this page.";
  if (thrown.status === 412) return "There is a file of that name.";
  return refusedFor(thrown);
}
