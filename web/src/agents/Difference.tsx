import type { ReactNode } from "react";
import { fieldNames, type FieldName } from "./agent";
import { compare, type Line } from "./lines";

/** Change is a field before and after. */
export interface Change {
  readonly field: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Difference is what became of each field: texts line by line, lists by what came and went. */
export function Difference({ changes }: { changes: readonly Change[] }): ReactNode {
  if (changes.length === 0) return <p className="help">Both say the same.</p>;
  return (
    <div className="diffs">
      {changes.map((change) => (
        <section key={change.field} aria-label={labelOf(change.field)}>
          <h3>{labelOf(change.field)}</h3>
          <Field change={change} />
        </section>
      ))}
    </div>
  );
}

function labelOf(field: string): string {
  return fieldNames[field as FieldName] ?? field;
}

function Field({ change: { field, before, after } }: { change: Change }): ReactNode {
  if (Array.isArray(before) && Array.isArray(after)) return <Lines lines={ofLists(before.map(String), after.map(String))} />;
  if (field === "outputSchema") return <Lines lines={folded(compare(pretty(before), pretty(after)))} />;
  if (field === "instructions") return <Lines numbered lines={folded(compare(String(before ?? ""), String(after ?? "")))} />;
  return <Lines lines={[{ kind: "gone", text: plain(before) }, { kind: "new", text: plain(after) }]} />;
}

function plain(value: unknown): string {
  if (value === true) return "yes";
  if (value === false) return "no";
  return value === "" || value === null || value === undefined ? "none" : String(value);
}

function pretty(value: unknown): string {
  return value === null || value === undefined ? "" : JSON.stringify(value, undefined, 2);
}

/** ofLists are what a list lost and got; what stayed needs no line. */
function ofLists(before: readonly string[], after: readonly string[]): Line[] {
  const gone = before.filter((each) => !after.includes(each)).map((text): Line => ({ kind: "gone", text }));
  const come = after.filter((each) => !before.includes(each)).map((text): Line => ({ kind: "new", text }));
  const all = [...gone, ...come];
  return all.length > 0 ? all : [{ kind: "same", text: "in another order" }];
}

/** So many lines stay around each change. */
const around = 3;

/** folded leaves out what is far from any change, and says how much. */
export function folded(lines: readonly Line[]): Line[] {
  const near = (i: number): boolean => lines.slice(Math.max(0, i - around), i + around + 1).some((line) => line.kind !== "same");
  const told: Line[] = [];
  let far: Line[] = [];
  // A single line takes no more room than the sentence in its place.
  const fold = (): void => {
    if (far.length > 1) told.push({ kind: "same", text: `… ${far.length} lines` });
    else told.push(...far);
    far = [];
  };
  lines.forEach((line, i) => {
    if (!near(i)) return void far.push(line);
    fold();
    told.push(line);
  });
  fold();
  return told;
}

const said = { same: "", gone: "taken away: ", new: "added: " };
const signs = { same: " ", gone: "−", new: "+" };

function Lines({ lines, numbered = false }: { lines: readonly Line[]; numbered?: boolean }): ReactNode {
  return (
    <div className={numbered ? "diff long" : "diff"} tabIndex={numbered ? 0 : undefined} role={numbered ? "group" : undefined} aria-label={numbered ? "Lines that differ" : undefined}>
      {lines.map((line, i) => (
        <div key={i} className={line.kind}>
          <span aria-hidden="true">{signs[line.kind]}</span>
          <span><span className="sr">{said[line.kind]}</span>{line.text || "\u200b"}</span>
        </div>
      ))}
    </div>
  );
}
