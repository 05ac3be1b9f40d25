import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The editor stands in a shadow root: its own sheets are adopted there, where the policy that forbids style elements has nothing against them.
const look = EditorView.theme({
  "&": { height: "100%", fontSize: "var(--t-12)", color: "var(--text)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontVariantLigatures: "none", lineHeight: "21px", overflow: "auto" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--accent)" },
  ".cm-line": { padding: "0 14px 0 0" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-3)", border: "0" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "52px", padding: "0 14px 0 0" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-line.svc-mine": { boxShadow: "none" },
  ".cm-gutterElement.svc-mine": { boxShadow: "inset 2px 0 0 var(--text-2)" },
  ".cm-line.svc-theirs": { backgroundColor: "var(--accent-soft)" },
  ".cm-gutterElement.svc-theirs": { backgroundColor: "var(--accent-soft)", boxShadow: "inset 2px 0 0 var(--accent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "color-mix(in srgb, var(--accent) 24%, transparent)" },
  ".cm-panels": { backgroundColor: "var(--canvas)", color: "var(--text)", border: "0" },
  ".cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-search": { padding: "8px 14px", fontFamily: "var(--sans)", fontSize: "var(--t-13)" },
  ".cm-search label": { fontSize: "var(--t-12)", color: "var(--text-2)" },
  ".cm-textfield": { border: "1px solid var(--control)", borderRadius: "var(--r-2)", backgroundColor: "var(--surface)", padding: "4px 8px", fontSize: "var(--t-13)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--surface)", border: "1px solid var(--line-strong)", borderRadius: "var(--r-2)", padding: "4px 9px", fontSize: "var(--t-12)" },
  ".cm-panel.cm-search [name=close]": { color: "var(--text-2)", fontSize: "18px", right: "8px" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--accent-soft)", outlineColor: "var(--accent)" },
  ".cm-selectionMatch": { backgroundColor: "var(--selected)" },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--ok-soft) !important" },
  ".cm-changedText": { background: "none", backgroundColor: "color-mix(in srgb, var(--ok) 22%, transparent) !important", borderRadius: "2px" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-soft)", padding: "0 14px 0 0" },
  ".cm-deletedChunk .cm-deletedText, .cm-deletedText": { background: "none", backgroundColor: "color-mix(in srgb, var(--bad) 22%, transparent)", textDecoration: "none" },
  ".cm-changeGutter": { width: "3px", padding: "0" },
  ".cm-changedLineGutter": { backgroundColor: "var(--ok)" },
  ".cm-deletedLineGutter": { backgroundColor: "var(--bad)" },
  ".cm-chunkButtons": { insetInlineEnd: "12px", display: "flex", gap: "6px" },
  "& .cm-chunkButtons button.svc-chunk": { font: "500 12px/22px var(--sans)", height: "24px", padding: "0 8px", border: "1px solid var(--line-strong)", borderRadius: "var(--r-2)", backgroundColor: "var(--surface)", color: "var(--text)", cursor: "pointer" },
  "& .cm-chunkButtons button.svc-chunk:hover": { backgroundColor: "var(--hover)" },
  "& .cm-chunkButtons button.svc-chunk:focus-visible": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-collapsedLines": { background: "none", backgroundColor: "var(--sunken)", color: "var(--text-2)", fontFamily: "var(--sans)", fontSize: "var(--t-12)", padding: "3px 14px" },
  "@media (max-width: 700px)": {
    ".cm-lineNumbers .cm-gutterElement": { minWidth: "36px", padding: "0 10px 0 0" },
    "&": { fontSize: "var(--t-13)" },
  },
});

const colours = HighlightStyle.define([
  { tag: tags.heading, color: "var(--k-turn)", fontWeight: "600" },
  { tag: [tags.monospace, tags.string, tags.special(tags.string), tags.regexp], color: "var(--k-tool)" },
  { tag: tags.strong, color: "var(--k-tool)", fontWeight: "600" },
  { tag: tags.emphasis, color: "var(--k-tool)", fontStyle: "italic" },
  { tag: [tags.processingInstruction, tags.contentSeparator, tags.punctuation, tags.bracket, tags.comment, tags.meta, tags.quote], color: "var(--text-3)" },
  { tag: [tags.keyword, tags.propertyName, tags.tagName, tags.definitionKeyword, tags.moduleKeyword], color: "var(--k-turn)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.link, tags.url], color: "var(--k-step)" },
  { tag: [tags.typeName, tags.className, tags.attributeName], color: "var(--k-task)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

/** editorLook is the design in an editor. */
export const editorLook: Extension = [look, syntaxHighlighting(colours)];
