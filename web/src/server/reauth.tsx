import { createContext, useCallback, useContext, useState, type ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { ReauthDialog } from "../kit/ReauthDialog";

type Prove = (refusal: SvcError) => Promise<boolean>;

const Context = createContext<Prove>(async () => false);

interface Asking {
  readonly refusal: SvcError;
  readonly answer: (proven: boolean) => void;
}

/** ReauthProvider asks a person to prove who they are, once for all acts that wait for it. */
export function ReauthProvider({ children }: { children: ReactNode }): ReactNode {
  const [asking, setAsking] = useState<readonly Asking[]>([]);
  const prove = useCallback<Prove>((refusal) => new Promise((answer) => setAsking((others) => [...others, { refusal, answer }])), []);
  const settle = (proven: boolean): void => {
    for (const each of asking) each.answer(proven);
    setAsking([]);
  };
  const first = asking[0];
  return (
    <Context value={prove}>
      {children}
      {first && <ReauthDialog refusal={first.refusal} onDone={settle} />}
    </Context>
  );
}

/** useReauth opens the dialog, and gives whether the person has proven who they are. */
export function useReauth(): Prove {
  return useContext(Context);
}
