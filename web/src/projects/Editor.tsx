import { useEffect, useRef, type ReactNode } from "react";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { diff, goToNextChunk, goToPreviousChunk, unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Text, Transaction, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { editorLook } from "./editorLook";
import { languageFor } from "./language";
import { mark, marks, unsavedLines } from "./marks";
import { breakOf } from "./text";

/** Place is where the cursor stands, and how much is not saved. */
export interface Place {
  readonly line: number;
  readonly column: number;
  readonly unsaved: number;
}

export interface EditorProps {
  /** The file, which names the text and its language. */
  path: string;
  /** The text. When it is another than what was typed, only what differs is replaced: cursor and scroll stay. */
  text: string;
  /** What is saved: lines that differ are marked as one's own. */
  saved: string;
  /** What the reader had seen before somebody else wrote; lines that differ are marked as theirs. */
  seen?: string | undefined;
  /** The text of others to compare with: each place that differs can be taken from them. */
  theirs?: string | undefined;
  readOnly?: boolean;
  onChange: (text: string) => void;
  onPlace: (place: Place) => void;
  onSave: () => void;
}

/** Editor is CodeMirror in the design's clothes. It is a part of its own: pages without a file do not carry it. */
export function Editor(props: EditorProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const told = useRef(props);
  told.current = props;
  const heard = useRef(props.text);
  const { path, text, saved, seen, readOnly = false } = props;

  useEffect(() => {
    if (!host.current) return;
    heard.current = told.current.text;
    const made = open(host.current, told, (typed) => (heard.current = typed));
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    if (text === heard.current || !view.current) return;
    heard.current = text;
    replace(view.current, text);
  }, [text]);

  useEffect(() => {
    const current = view.current;
    if (!current) return;
    const { state } = current;
    current.dispatch({ effects: mark.of({ saved: state.toText(saved), seen: seen === undefined ? undefined : state.toText(seen) }) });
    told.current.onPlace(placeIn(current.state));
  }, [saved, seen]);

  useEffect(() => view.current?.dispatch({ effects: access.reconfigure(accessOf(readOnly)) }), [readOnly]);

  useEffect(() => {
    let gone = false;
    void languageFor(path).then((language) => {
      if (!gone) view.current?.dispatch({ effects: grammar.reconfigure(language) });
    });
    return () => {
      gone = true;
    };
  }, [path]);

  return <div ref={host} className="editor" />;
}

/** replace brings a text that somebody else wrote. It is none of the reader's own steps, so that undo does not take it back. */
function replace(view: EditorView, text: string): void {
  const before = view.state.doc.toString();
  const after = view.state.toText(text).toString();
  const changes = diff(before, after, { scanLimit: 500, timeout: 100 }).map((change) => ({ from: change.fromA, to: change.toA, insert: Text.of(after.slice(change.fromB, change.toB).split("\n")) }));
  view.dispatch({ changes, annotations: Transaction.addToHistory.of(false) });
}

const grammar = new Compartment();
const access = new Compartment();

function accessOf(readOnly: boolean): Extension {
  return [EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly)];
}

function open(host: HTMLElement, told: React.RefObject<EditorProps>, hear: (text: string) => void): EditorView {
  // A shadow root survives the element's second mount, which React makes on purpose in development.
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  const { text, path, theirs, readOnly = false } = told.current;
  const heard = EditorView.updateListener.of((update) => {
    if (update.docChanged) {
      const typed = update.state.sliceDoc();
      hear(typed);
      told.current.onChange(typed);
    }
    if (update.docChanged || update.selectionSet) told.current.onPlace(placeIn(update.state));
  });
  const save = keymap.of([{ key: "Mod-s", preventDefault: true, run: () => (told.current.onSave(), true) }]);
  const state = EditorState.create({
    doc: text,
    extensions: [
      EditorState.lineSeparator.of(breakOf(text)),
      lineNumbers(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), highlightActiveLineGutter(), highlightSelectionMatches(),
      search({ top: true }), EditorView.lineWrapping, save, keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": `Text of ${path}`, "aria-description": "Tab indents. Press Escape, then Tab, to leave." }),
      access.of(accessOf(readOnly)), grammar.of([]), marks, editorLook, heard,
      theirs === undefined ? [] : comparison(theirs),
    ],
  });
  const parent = document.createElement("div");
  parent.style.height = "100%";
  root.append(parent);
  return new EditorView({ state, parent, root });
}

/** comparison shows what differs from the text of others, where both can be chosen place by place. */
function comparison(theirs: string): Extension {
  const button = (type: "accept" | "reject", act: (event: MouseEvent) => void): HTMLElement => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "svc-chunk";
    made.textContent = type === "accept" ? "Keep mine" : "Take theirs";
    made.onclick = act;
    return made;
  };
  return [
    unifiedMergeView({ original: theirs, mergeControls: button, collapseUnchanged: { margin: 3, minSize: 6 }, allowInlineDiffs: false }),
    keymap.of([{ key: "F7", run: goToNextChunk }, { key: "Shift-F7", run: goToPreviousChunk }]),
  ];
}

function placeIn(state: EditorState): Place {
  const at = state.selection.main.head;
  const line = state.doc.lineAt(at);
  return { line: line.number, column: at - line.from + 1, unsaved: unsavedLines(state) };
}
