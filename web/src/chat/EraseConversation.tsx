import type { ReactNode } from "react";
import { ConfirmByName } from "../kit/ConfirmByName";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";

export interface EraseConversationProps {
  agent: string;
  instance: string;
  /** What a person knows it by. */
  title: string;
  onErased: () => void;
  onClose: () => void;
}

/** The longest name that is typed to confirm. */
const longest = 40;

/** EraseConversation destroys a conversation, when it was named. */
export function EraseConversation({ agent, instance, title, onErased, onClose }: EraseConversationProps): ReactNode {
  const erase = useAct("delete", "/api/workspaces/{username}/{business}/agents/{name}/conversations/{instance}");
  const toast = useToast();
  const confirmed = async (): Promise<void> => {
    if (!(await erase.run({ path: { name: agent, instance } }))) return;
    onClose();
    toast({ tone: "ok", text: "Erased." });
    onErased();
  };
  return (
    <ConfirmByName act="Erase this conversation" name={title.length <= longest ? title : instance} busy={erase.busy} error={erase.error} onClose={onClose} onConfirm={() => void confirmed()}>
      “{title}”, its queue and its images are erased at once, for everybody. This cannot be undone.
    </ConfirmByName>
  );
}
