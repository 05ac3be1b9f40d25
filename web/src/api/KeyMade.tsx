import type { ReactNode } from "react";
import type { AnswerOf } from "@svc/sdk";
import { Button } from "../kit/Button";
import { CopyButton } from "../kit/CodeSample";
import { Dialog } from "../kit/Dialog";
import { Icon } from "../kit/Icon";

export type Made = AnswerOf<"/api/workspaces/{username}/{business}/keys", "post">;

/** KeyMade shows a key, once. The page keeps it for its snippets until one leaves. */
export function KeyMade({ made, onClose }: { made: Made; onClose: () => void }): ReactNode {
  return (
    <Dialog title={`The key ${made.name}`} wide onClose={onClose} footer={<Button look="primary" onClick={onClose}>I have it</Button>}>
      <p className="help warn">
        <Icon name="key" small /> <span>It is shown once, here and in the snippets of this page. Nobody can read it afterwards.</span>
      </p>
      <div className="copyline made-key">
        <code className="mono grow">{made.key}</code>
        <CopyButton text={made.key} label="Copy the key">Copy</CopyButton>
      </div>
      <p className="dim">Give it to a program as <code className="mono">SVC_KEY</code>, and to nobody by mail or chat. Should it get lost, revoke it.</p>
    </Dialog>
  );
}
