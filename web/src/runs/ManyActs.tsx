import { useState, type ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { sentenceOf, Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useMay } from "../server/role";
import type { RunRow } from "./run";
import { useCancel, useRunAgain, type RunAct } from "./acts";
import { doEach } from "./many";

export interface ManyActsProps {
  runs: readonly RunRow[];
  /** Takes a run out of the selection: what is done is not done again. */
  onDone: (runId: string) => void;
  /** Selects none. */
  onClear: () => void;
}

/** ManyActs does the same to all runs that are selected, one after the other. What was refused stays selected. */
export function ManyActs({ runs, onDone, onClear }: ManyActsProps): ReactNode {
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
      <Button small look="ghost" onClick={onClear}>Clear</Button>
      {asking === "cancel" && <CancelMany runs={active} onClose={() => setAsking(undefined)} onDone={onDone} onClear={onClear} />}
      {asking === "again" && <AgainMany runs={runs} onClose={() => setAsking(undefined)} onDone={onDone} onClear={onClear} />}
    </div>
  );
}

interface ManyProps extends ManyActsProps {
  onClose: () => void;
}

/** useEach does an act to every run of a selection, and says what came of it. */
function useEach({ runs, onDone, onClear }: ManyActsProps, act: RunAct<unknown>, word: string): { all: () => Promise<void>; busy: boolean; trouble: ReactNode } {
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const [refusals, setRefusals] = useState<readonly SvcError[]>([]);
  const all = async (): Promise<void> => {
    setBusy(true);
    setRefusals([]);
    const refused = await doEach(runs.map((run) => run.runId), act.run, onDone);
    setRefusals(refused);
    setBusy(false);
    if (refused.length > 0) return;
    toast({ tone: "ok", text: runs.length === 1 ? `One run is ${word}.` : `${runs.length} runs are ${word}.` });
    onClear();
  };
  const told = new Map(refusals.map((refusal) => [sentenceOf(refusal), refusal]));
  return { all, busy, trouble: [...told].map(([sentence, refusal]) => <Trouble key={sentence} error={refusal} />) };
}

function CancelMany(props: ManyProps): ReactNode {
  const { runs, onClose } = props;
  const { all, busy, trouble } = useEach(props, useCancel(), "cancelled");
  return (
    <Dialog title={`Cancel ${counted(runs)}?`} onClose={onClose} footer={<><Button onClick={onClose}>Keep running</Button><Button look="danger" className="primary" busy={busy} onClick={() => void all()}>Cancel {counted(runs)}</Button></>}>
      {trouble}
      <p className="dim">No further step starts. What they have finished stays recorded.</p>
    </Dialog>
  );
}

function AgainMany(props: ManyProps): ReactNode {
  const { runs, onClose } = props;
  const { all, busy, trouble } = useEach(props, useRunAgain(), "started");
  return (
    <Dialog title={`Run ${counted(runs)} again?`} onClose={onClose} footer={<><Button onClick={onClose}>Not now</Button><Button look="primary" busy={busy} onClick={() => void all()}>Start {counted(runs)}</Button></>}>
      {trouble}
      <p className="dim">Each starts from the beginning, with the input of the run that it repeats.</p>
    </Dialog>
  );
}

function counted(runs: readonly RunRow[]): string {
  return runs.length === 1 ? "this run" : `${runs.length} runs`;
}
