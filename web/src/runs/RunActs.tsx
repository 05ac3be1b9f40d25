import { useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { useCopy } from "../kit/CodeSample";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Dialog } from "../kit/Dialog";
import { Icon } from "../kit/Icon";
import { Menu } from "../kit/Menu";
import { sentenceOf, Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useMay } from "../server/role";
import { apiOf, useWorkspace } from "../server/workspace";
import { usePath } from "../shell/where";
import { useCancel, useRunAgain } from "./acts";
import { curlOf } from "./curl";
import type { RunRow } from "./run";

type Run = RunRow & { readonly input?: unknown };

/** RunActs are what can be done with a run. */
export function RunActs({ run }: { run: Run }): ReactNode {
  const work = useMay("work");
  const manage = useMay("manage");
  const [asking, setAsking] = useState<"cancel" | "erase">();
  const again = useRunAgain();
  const navigate = useNavigate();
  const path = usePath();
  const toast = useToast();
  const active = run.status === "active";
  const repeat = async (): Promise<void> => {
    const started = again.busy ? undefined : await again.run(run.runId);
    if (started && "answer" in started) void navigate({ to: path(`runs/${started.answer.runId}`) });
  };
  const workspace = useWorkspace();
  const put = useCopy();
  const copy = async (): Promise<void> => {
    if (await put(curlOf(apiOf(workspace), run))) toast({ tone: "ok", text: "Copied. Put an API key into SVC_KEY, and it starts a run with this input." });
  };
  return (
    <>
      {again.error && <span className="bad t12 trunc" role="alert">{sentenceOf(again.error)}</span>}
      <Button icon="redo" why={work.why} busy={again.busy} className="desk" onClick={() => void repeat()}>Run again</Button>
      {active && <Button look="danger" icon="stop" why={work.why} onClick={() => setAsking("cancel")}>Cancel<span className="desk-only"> run</span></Button>}
      <Menu
        label="More"
        bare
        className="btn ghost icon"
        button={<Icon name="more" />}
        groups={[
          { items: [{ label: "Run again", icon: "redo", why: work.why, onSelect: () => void repeat() }, { label: "Copy as curl", icon: "copy", onSelect: () => void copy() }] },
          { items: [{ label: "Erase this run", icon: "trash", danger: true, why: manage.why, onSelect: () => setAsking("erase") }] },
        ]}
      />
      {asking === "cancel" && <CancelDialog run={run} onClose={() => setAsking(undefined)} />}
      {asking === "erase" && <EraseDialog run={run} onClose={() => setAsking(undefined)} />}
    </>
  );
}

function CancelDialog({ run, onClose }: { run: Run; onClose: () => void }): ReactNode {
  const cancel = useCancel();
  const toast = useToast();
  const go = async (): Promise<void> => {
    const done = await cancel.run(run.runId);
    if (!done || !("answer" in done)) return;
    toast(done.answer.cancelled ? { tone: "ok", text: "The run is cancelled." } : { text: "It had already ended." });
    onClose();
  };
  return (
    <Dialog title="Cancel this run?" onClose={onClose} onSubmit={() => void go()} footer={<><Button onClick={onClose}>Keep running</Button><Button type="submit" look="danger" className="primary" busy={cancel.busy}>Cancel run</Button></>}>
      {cancel.error && <Trouble error={cancel.error} />}
      <p className="dim">No further step of {run.workflowName} starts. What it has finished stays recorded, and it cannot be continued.</p>
    </Dialog>
  );
}

function EraseDialog({ run, onClose }: { run: Run; onClose: () => void }): ReactNode {
  const erase = useAct("delete", "/api/workspaces/{username}/{business}/runs/{run}");
  const navigate = useNavigate();
  const path = usePath();
  const go = async (): Promise<void> => {
    if (await erase.run({ path: { run: run.runId } })) void navigate({ to: path("runs"), replace: true });
  };
  return (
    <ConfirmByName act="Erase run" name={run.workflowName} busy={erase.busy} error={erase.error} onClose={onClose} onConfirm={() => void go()}>
      Its events, input and result are destroyed at once{run.status === "active" ? ", and it stops" : ""}. Nobody can bring them back.
    </ConfirmByName>
  );
}
