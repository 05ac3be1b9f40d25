import type { ReactNode } from "react";
import { ConfirmByName } from "../kit/ConfirmByName";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { keepDraft } from "./draft";
import { useContentAddress } from "./files";
import { nameOf } from "./path";
import type { Entry } from "./tree";

export interface DeleteFileProps {
  slug: string;
  entry: Entry;
  onClose: () => void;
  onDeleted: () => void;
}

/** DeleteFile destroys a file, once its name is typed. */
export function DeleteFile({ slug, entry, onClose, onDeleted }: DeleteFileProps): ReactNode {
  const remove = useAct("delete", "/api/workspaces/{username}/{business}/projects/{slug}/files/{path}", { refreshes: ["/api/workspaces/{username}/{business}/storage"] });
  const address = useContentAddress(slug);
  const toast = useToast();
  const confirm = async (): Promise<void> => {
    if (!(await remove.run({ path: { slug, path: entry.path } }))) return;
    keepDraft(address(entry.path), undefined);
    toast({ tone: "ok", text: `Deleted ${nameOf(entry.path)}.` });
    onClose();
    onDeleted();
  };
  return (
    <ConfirmByName act="Delete file" name={nameOf(entry.path)} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
      {entry.path} is gone for good. Its room is free at once.
    </ConfirmByName>
  );
}
