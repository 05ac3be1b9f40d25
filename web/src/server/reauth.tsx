import { createContext, useCallback, useContext, useEffect, useRef, useState, type ReactNode } from "react";
import { SvcError } from "@svc/sdk";
import { ReauthDialog } from "../kit/ReauthDialog";

type Prove = (refusal: SvcError) => Promise<boolean>;

const Context = createContext<Prove>(async () => false);

/** ReauthProvider asks a person to prove who they are, once for all acts that wait for it, also those that come while it asks. */
export function ReauthProvider({ children }: { children: ReactNode }): ReactNode {
  const waiting = useRef<((proven: boolean) => void)[]>([]);
  const [refusal, setRefusal] = useState<SvcError>();
  const prove = useCallback<Prove>((refused) => new Promise((answer) => {
    waiting.current.push(answer);
    setRefusal((first) => first ?? refused);
  }), []);
  const settle = useCallback((proven: boolean): void => {
    setRefusal(undefined);
    for (const answer of waiting.current.splice(0)) answer(proven);
  }, []);
  return (
    <Context value={prove}>
      {children}
      {refusal && <ReauthDialog refusal={refusal} onDone={settle} />}
    </Context>
  );
}

/** useReauth opens the dialog, and gives whether the person has proven who they are. */
export function useReauth(): Prove {
  return useContext(Context);
}

/** useProven asks who is here when a stream is refused because the session has ended, and goes on after. */
export function useProven(refusal: unknown, then: () => void): void {
  const prove = useReauth();
  const ended = refusal instanceof SvcError && refusal.status === 401 ? refusal : undefined;
  const asked = useRef(false);
  const next = useRef(then);
  next.current = then;
  useEffect(() => {
    if (!ended || asked.current) return;
    asked.current = true;
    void prove(ended).then((proven) => {
      asked.current = false;
      if (proven) next.current();
    });
  }, [ended, prove]);
}
