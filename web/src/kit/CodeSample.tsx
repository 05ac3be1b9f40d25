import { useState, type ReactNode } from "react";
import { Button } from "./Button";
import { Tabs } from "./Tabs";
import { useToast } from "./Toast";

/** useCopy copies a text, and gives whether the browser allowed it. Where it did not, that is said. */
export function useCopy(): (text: string) => Promise<boolean> {
  const toast = useToast();
  return async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      toast({ tone: "bad", text: "The browser did not allow copying. Select the text instead." });
      return false;
    }
  };
}

/** CopyButton copies a text and says so. */
export function CopyButton({ text, label = "Copy", children }: { text: string; label?: string; children?: ReactNode }): ReactNode {
  const put = useCopy();
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    if (!(await put(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1_600);
  };
  return (
    <Button look={children ? "plain" : "ghost"} small icon={done ? "check" : "copy"} label={done ? "Copied" : label} onClick={() => void copy()}>
      {children && (done ? "Copied" : children)}
    </Button>
  );
}

export interface Sample {
  /** The language, as its tab names it. */
  name: string;
  text: string;
}

/** CodeSample is a program to copy, in one language or several. */
export function CodeSample({ label, samples, acts }: { label: string; samples: readonly Sample[]; acts?: ReactNode }): ReactNode {
  const [name, setName] = useState(samples[0]?.name ?? "");
  const sample = samples.find((each) => each.name === name) ?? samples[0];
  if (!sample) return null;
  return (
    <section className="sample" aria-label={label}>
      <header>
        {samples.length > 1 ? <Tabs label={label} tabs={samples.map((each) => ({ id: each.name, label: each.name }))} value={sample.name} onChange={setName} /> : <b>{sample.name}</b>}
        <CopyButton text={sample.text} />
        {acts}
      </header>
      <pre tabIndex={0}>{sample.text}</pre>
    </section>
  );
}
