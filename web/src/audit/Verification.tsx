import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { count } from "../kit/amount";
import { Time } from "../kit/Time";
import { hearing } from "../server/hearing";
import { linesOf, verify, type Verdict } from "./chain";

type State = { at: "idle" } | { at: "walking"; seq: number } | { at: "done"; verdict: Verdict; when: string } | { at: "failed" };

/** A log of so many events is walked along without being asked; a longer one is a load that a person decides on. */
const unasked = 1_000;

/** Verification walks along the log in this browser, by the hashes of its events: nobody's word is taken for it. */
export function Verification({ exported, newest }: { exported: string; newest: number }): ReactNode {
  const [state, setState] = useState<State>({ at: "idle" });
  const stop = useRef<AbortController>(undefined);
  const walk = async (): Promise<void> => {
    stop.current?.abort();
    const own = (stop.current = new AbortController());
    setState({ at: "walking", seq: 0 });
    try {
      const answer = await hearing(exported, { signal: own.signal });
      if (!answer.ok || !answer.body) throw new Error(`the export was answered ${answer.status}`);
      const verdict = await verify(linesOf(answer.body), (seq) => seq % 500 === 0 && setState({ at: "walking", seq }));
      setState({ at: "done", verdict, when: new Date().toISOString() });
    } catch {
      if (!own.signal.aborted) setState({ at: "failed" });
    }
  };
  useEffect(() => {
    if (newest > 0 && newest <= unasked) void walk();
    return () => stop.current?.abort();
    // Once for a page: later it is asked for.
  }, [exported]);
  return (
    <span className="verified" role="status">
      <Said state={state} />
      <Button small look="ghost" busy={state.at === "walking"} onClick={() => void walk()}>{state.at === "idle" ? "Verify the chain" : "Again"}</Button>
    </span>
  );
}

function Said({ state }: { state: State }): ReactNode {
  if (state.at === "walking") return <span className="faint">Verifying{state.seq > 0 && ` #${count(state.seq)}`}</span>;
  if (state.at === "failed") return <span className="warn"><Icon name="warn" small /> The log could not be read</span>;
  if (state.at === "idle") return null;
  const { verdict, when } = state;
  if (verdict.broken !== undefined) {
    return <span className="bad"><Icon name="warn" small /> Broken at #{count(verdict.broken)}: it was changed, or one before it is missing. Tell the operator</span>;
  }
  return <span className="ok"><Icon name="check" small /> Chain verified{verdict.from > 1 && ` from #${count(verdict.from)}`} to #{count(verdict.to)}, <Time at={when} quiet /></span>;
}
