import { createContext, useCallback, useContext, useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "./Button";
import { Icon } from "./Icon";

export interface ToastSaying {
  text: string;
  tone?: "ok" | "bad";
  /** Takes back what was done. */
  undo?: () => void;
}

type Say = (saying: ToastSaying) => void;

const Context = createContext<Say>(() => {});

/** useToast tells what came of an act. What must be read stands on the page instead. */
export function useToast(): Say {
  return useContext(Context);
}

const shownFor = 6_000;

export function ToastProvider({ children }: { children: ReactNode }): ReactNode {
  const [all, setAll] = useState<readonly (ToastSaying & { key: number })[]>([]);
  const next = useRef(0);
  const drop = useCallback((key: number) => setAll((sayings) => sayings.filter((each) => each.key !== key)), []);
  const say = useCallback<Say>((saying) => setAll((sayings) => [...sayings.slice(-2), { ...saying, key: next.current++ }]), []);
  return (
    <Context value={say}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {all.map(({ key, ...saying }) => (
          <OneToast key={key} saying={saying} onDrop={() => drop(key)} />
        ))}
      </div>
    </Context>
  );
}

function OneToast({ saying, onDrop }: { saying: ToastSaying; onDrop: () => void }): ReactNode {
  const [held, setHeld] = useState(false);
  const drop = useRef(onDrop);
  drop.current = onDrop;
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => drop.current(), shownFor);
    return () => clearTimeout(timer);
  }, [held]);
  const undo = (): void => {
    saying.undo?.();
    onDrop();
  };
  return (
    <div className={`toast ${saying.tone ?? ""}`} onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)} onFocus={() => setHeld(true)} onBlur={() => setHeld(false)}>
      {saying.tone && <Icon name={saying.tone === "ok" ? "check" : "warn"} />}
      <span className="grow">{saying.text}</span>
      {saying.undo && <Button small onClick={undo}>Undo</Button>}
      <Button small look="ghost" icon="x" label="Dismiss" onClick={onDrop} />
    </div>
  );
}
