import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useMay } from "../server/role";
import type { RunRow } from "./run";
import { useCancel, useRunAgain } from "./acts";

/** ManyActs does the same to all runs that are selected, one after the other, and stops at the first refusal. */
export function ManyActs({ runs, onDone }: { runs: readonly RunRow[]; onDone: () => void }): ReactNode {
  const { why } = useMay("work");
  const [asking, setAsking] = useState<"cancel" | "again">();
  const active = runs.filter((run) => run.status === "active");
  return (
    <div className="many" role="region" aria-label="Selected runs">
      <b className="num">{runs.length} selected</b>
      <Button small icon="stop" look="danger" why={why ?? (active.length === 0 ? "None of them is running." : undefined)} onClick={() => setAsking("cancel")}>
        Cancel{active.length > 0 && active.length < runs.length ? ` ${active.length}` : ""}
      </Button>
      <Button small icon="redo" why={why} onClick={() => setAsking("again")}>Run again</Button>
      <span className="grow" />
      <Button small look="ghost" onClick={onDone}>Clear</Button>
      {asking === "cancel" && <CancelMany runs={active} onClose={() => setAsking(undefined)} onDone={onDone} />}
      {asking === "again" && <AgainMany runs={runs} onClose={() => setAsking(undefined)} onDone={onDone} />}
    </div>
  );
}

interface ManyProps {
  runs: readonly RunRow[];
  onClose: () => void;
  onDone: () => void;
}

function CancelMany({ runs, onClose, onDone }: ManyProps): ReactNode {
  const cancel = useCancel();
  const toast = useToast();
  const [left, setLeft] = useState<number>();
  const all = async (): Promise<void> => {
    for (const [i, run] of runs.entries()) {
      setLeft(runs.length - i);
      if (!(await cancel.run(run.runId))) return setLeft(undefined);
    }
    toast({ tone: "ok", text: runs.length === 1 ? "One run is cancelled." : `${runs.length} runs are cancelled.` });
    onDone();
  };
  return (
    <Dialog title={`Cancel ${counted(runs)}?`} onClose={onClose} footer={<><Button onClick={onClose}>Keep running</Button><Button look="danger" className="primary" busy={left !== undefined} onClick={() => void all()}>Cancel {counted(runs)}</Button></>}>
      {cancel.error && <Trouble error={cancel.error} />}
      <p className="dim">No further step starts. What they have finished stays recorded.</p>
    </Dialog>
  );
}

function AgainMany({ runs, onClose, onDone }: ManyProps): ReactNode {
  const again = useRunAgain();
  const toast = useToast();
  const [left, setLeft] = useState<number>();
  const all = async (): Promise<void> => {
    for (const [i, run] of runs.entries()) {
      setLeft(runs.length - i);
      if (!(await again.run(run.runId))) return setLeft(undefined);
    }
    toast({ tone: "ok", text: runs.length === 1 ? "One run is started." : `${runs.length} runs are started.` });
    onDone();
  };
  return (
    <Dialog title={`Run ${counted(runs)} again?`} onClose={onClose} footer={<><Button onClick={onClose}>Not now</Button><Button look="primary" busy={left !== undefined} onClick={() => void all()}>Start {counted(runs)}</Button></>}>
      {again.error && <Trouble error={again.error} />}
      <p className="dim">Each starts from the beginning, with the input of the run that it repeats.</p>
    </Dialog>
  );
}

function counted(runs: readonly RunRow[]): string {
  return runs.length === 1 ? "this run" : `${runs.length} runs`;
}
