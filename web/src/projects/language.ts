import type { Extension } from "@codemirror/state";
import { extensionOf } from "./path";

// Each language is a part of its own, fetched when a file of it is first opened.
const languages: Record<string, () => Promise<Extension>> = {
  markdown: () => import("@codemirror/lang-markdown").then((of) => of.markdown({ base: of.markdownLanguage })),
  json: () => import("@codemirror/lang-json").then((of) => of.json()),
  javascript: () => import("@codemirror/lang-javascript").then((of) => of.javascript({ jsx: true })),
  typescript: () => import("@codemirror/lang-javascript").then((of) => of.javascript({ jsx: true, typescript: true })),
  yaml: () => import("@codemirror/lang-yaml").then((of) => of.yaml()),
  python: () => import("@codemirror/lang-python").then((of) => of.python()),
  go: () => import("@codemirror/lang-go").then((of) => of.go()),
};

const byExtension: Record<string, string> = {
  md: "markdown", markdown: "markdown", json: "json", js: "javascript", mjs: "javascript", cjs: "javascript", jsx: "javascript", ts: "typescript", tsx: "typescript",
  yaml: "yaml", yml: "yaml", py: "python", go: "go",
};

/** languageFor is the grammar of a file; what has none is plain text. */
export async function languageFor(path: string): Promise<Extension> {
  const name = byExtension[extensionOf(path)];
  const load = name === undefined ? undefined : languages[name];
  // A part that does not come costs the colours and nothing else.
  return load ? load().catch(() => []) : [];
}
