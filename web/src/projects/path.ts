/** nameOf is the last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** folderOf is the folder of a path, without a slash at its end; that of a file at the top is "". */
export function folderOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "" : path.slice(0, at);
}

/** below is a path in a folder. */
export function below(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** foldersOf are all folders above a path, the topmost first. */
export function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join("/"));
}

const encoder = new TextEncoder();

/** problemOf says why a path cannot name a file, before the service has to. The rules are those of service/project/path.go. */
export function problemOf(path: string): string | undefined {
  if (path === "") return "Give the file a name.";
  if (encoder.encode(path).length > 1024) return "This path is too long.";
  const segments = path.split("/");
  if (segments.length > 32) return "There are at most 32 folders in each other.";
  for (const segment of segments) {
    if (segment === "") return "A path has no empty part: take out the slash that is too many.";
    if (segment === "." || segment === "..") return "Name the folder itself instead of dots.";
    if (encoder.encode(segment).length > 255) return "A name has at most 255 bytes.";
    if (/[\\\p{Cc}]/u.test(segment)) return "A name has no backslash and no control character.";
    if (/^\.svc-tmp-/i.test(segment)) return "This name is reserved.";
  }
  return undefined;
}

/** Look is how a file can be shown. */
export type Look = "text" | "markdown" | "drawing" | "image" | "other";

const images = new Set(["png", "jpg", "jpeg", "gif", "webp", "avif"]);
const binaries = new Set(["pdf", "zip", "gz", "tgz", "tar", "7z", "xz", "bz2", "jar", "exe", "dll", "so", "wasm", "woff", "woff2", "ttf", "otf", "ico", "mp3", "mp4", "mov", "avi", "webm", "ogg", "wav", "xlsx", "docx", "pptx", "sqlite", "db", "parquet"]);

export function extensionOf(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
}

/** lookOf goes by the name. What it takes for text may turn out to be none when it is read. */
export function lookOf(path: string): Look {
  const end = extensionOf(path);
  if (images.has(end)) return "image";
  if (end === "svg") return "drawing";
  if (end === "md" || end === "markdown") return "markdown";
  return binaries.has(end) ? "other" : "text";
}

const languages: Record<string, string> = {
  md: "Markdown", markdown: "Markdown", json: "JSON", js: "JavaScript", mjs: "JavaScript", cjs: "JavaScript", jsx: "JavaScript", ts: "TypeScript", tsx: "TypeScript",
  yaml: "YAML", yml: "YAML", py: "Python", go: "Go", html: "HTML", htm: "HTML", css: "CSS", svg: "SVG", csv: "CSV", tsv: "TSV", sql: "SQL", sh: "Shell", toml: "TOML", xml: "XML", txt: "Text", log: "Log",
};

/** languageOf is what a text is written in, as the status bar names it. */
export function languageOf(path: string): string {
  return languages[extensionOf(path)] ?? "Text";
}

/** imageTypeOf is the type by which a browser draws a picture; the service sends a drawing as text. */
export function imageTypeOf(path: string): string {
  const end = extensionOf(path);
  return end === "svg" ? "image/svg+xml" : `image/${end === "jpg" ? "jpeg" : end}`;
}
