import { useMemo, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { fieldNames, type Definition, type FieldName } from "./agent";
import { Difference } from "./Difference";
import type { Draft } from "./draft";
import { merge } from "./merge";

export interface MergeDialogProps {
  draft: Draft;
  theirs: Definition;
  /** The version that they saved. */
  version: number;
  onMerged: (definition: Definition) => void;
  onClose: () => void;
}

/** MergeDialog puts two people's changes together. Where they meet, a person chooses; nothing is saved yet. */
export function MergeDialog({ draft, theirs, version, onMerged, onClose }: MergeDialogProps): ReactNode {
  const { merged, clashes, taken } = useMemo(() => merge(draft.base, draft.mine, theirs), [draft, theirs]);
  const [choices, setChoices] = useState<Partial<Record<FieldName, "mine" | "theirs">>>({});
  const open = clashes.filter((field) => choices[field] === undefined);
  const use = (): void => {
    const chosen = Object.fromEntries(clashes.map((field) => [field, (choices[field] === "theirs" ? theirs : draft.mine)[field]]));
    onMerged({ ...merged, ...(chosen as Partial<Definition>) });
  };
  const left = open.length === 1 ? `Choose ${fieldNames[open[0] as FieldName].toLowerCase()} first.` : `Choose ${open.length} fields first.`;
  return (
    <Dialog
      wide
      title={`Your changes and v${version}`}
      onClose={onClose}
      onSubmit={use}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" why={open.length > 0 ? left : undefined}>Use the merge</Button>
        </>
      }
    >
      {clashes.length === 0 && <p>Your changes and theirs do not meet: both are kept. Look at the result and save it.</p>}
      {taken.length > 0 && (
        <section className="theirs" aria-label="Taken over">
          <h3>Taken over from v{version}</h3>
          <Difference changes={taken.map((field) => ({ field, before: draft.mine[field], after: merged[field] }))} />
        </section>
      )}
      {clashes.map((field) => (
        <fieldset key={field} className="clash">
          <legend>{fieldNames[field]}: you both changed it</legend>
          <Side field={field} label="Yours" base={draft.base} value={draft.mine} chosen={choices[field] === "mine"} onChoose={() => setChoices({ ...choices, [field]: "mine" })} />
          <Side field={field} label={`Theirs, v${version}`} base={draft.base} value={theirs} chosen={choices[field] === "theirs"} onChoose={() => setChoices({ ...choices, [field]: "theirs" })} />
        </fieldset>
      ))}
    </Dialog>
  );
}

function Side({ field, label, base, value, chosen, onChoose }: { field: FieldName; label: string; base: Definition; value: Definition; chosen: boolean; onChoose: () => void }): ReactNode {
  return (
    <div className={chosen ? "side-of chosen" : "side-of"}>
      <label>
        <input type="radio" className="round" name={`clash-${field}`} checked={chosen} onChange={onChoose} /> {label}
      </label>
      <Difference changes={[{ field, before: base[field], after: value[field] }]} />
    </div>
  );
}
