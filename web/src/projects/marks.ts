import { RangeSetBuilder, StateEffect, StateField, Text, type EditorState, type Extension, type RangeSet } from "@codemirror/state";
import { Decoration, EditorView, gutterLineClass, GutterMarker, type DecorationSet } from "@codemirror/view";
import { piecesOf } from "./merge";

/** Marked are the texts that a document is compared with. */
export interface Marked {
  /** What is saved: what differs from it has an ink gutter. */
  readonly saved: Text;
  /** What the reader had seen before somebody else wrote; undefined: nobody did. What differs from it has an accent one. */
  readonly seen?: Text | undefined;
}

export const mark = StateEffect.define<Marked>();

interface Lines extends Marked {
  readonly lines: DecorationSet;
  readonly gutter: RangeSet<GutterMarker>;
  readonly mine: number;
}

class Side extends GutterMarker {
  constructor(override readonly elementClass: string) {
    super();
  }
}

const mine = { line: Decoration.line({ class: "svc-mine" }), gutter: new Side("svc-mine") };
const theirs = { line: Decoration.line({ class: "svc-theirs" }), gutter: new Side("svc-theirs") };

/** changedLines are the numbers of the lines of a text that another does not have. */
export function changedLines(before: Text, after: Text): Set<number> {
  const lines = new Set<number>();
  let shift = 0;
  for (const piece of piecesOf(before.toJSON(), after.toJSON())) {
    for (let i = 0; i < piece.lines.length; i++) lines.add(piece.from + shift + i + 1);
    shift += piece.lines.length - (piece.to - piece.from);
  }
  return lines;
}

function compare(state: EditorState, marked: Marked): Lines {
  const own = changedLines(marked.saved, state.doc);
  const others = marked.seen ? changedLines(marked.seen, state.doc) : new Set<number>();
  const lines = new RangeSetBuilder<Decoration>();
  const gutter = new RangeSetBuilder<GutterMarker>();
  for (const number of [...new Set([...own, ...others])].sort((a, b) => a - b)) {
    const at = state.doc.line(number).from;
    const side = own.has(number) ? mine : theirs;
    lines.add(at, at, side.line);
    gutter.add(at, at, side.gutter);
  }
  return { ...marked, lines: lines.finish(), gutter: gutter.finish(), mine: own.size };
}

/** How long a document may be to be compared with every key. */
const longest = 400_000;

const field = StateField.define<Lines>({
  create: (state) => ({ saved: state.doc, lines: Decoration.none, gutter: new RangeSetBuilder<GutterMarker>().finish(), mine: 0 }),
  update(lines, change) {
    for (const effect of change.effects) if (effect.is(mark)) return compare(change.state, effect.value);
    if (!change.docChanged) return lines;
    return change.newDoc.length > longest ? { ...lines, lines: lines.lines.map(change.changes), gutter: lines.gutter.map(change.changes) } : compare(change.state, lines);
  },
  provide: (of) => [EditorView.decorations.from(of, (lines) => lines.lines), gutterLineClass.from(of, (lines) => lines.gutter)],
});

/** marks shows which lines are not saved, and which somebody else wrote meanwhile. */
export const marks: Extension = field;

/** unsavedLines is how many lines differ from what is saved. */
export function unsavedLines(state: EditorState): number {
  return state.field(field).mine;
}
