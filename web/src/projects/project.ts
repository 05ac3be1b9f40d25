import type { AnswerOf } from "@svc/sdk";
import { bytes, count } from "../kit/amount";
import type { Entry } from "./tree";

/** Project is a folder of files that people and agents share. */
export type Project = AnswerOf<"/api/workspaces/{username}/{business}/projects/{slug}", "get">;

/** sizeOf says how much a project holds. */
export function sizeOf(project: Pick<Project, "fileCount" | "bytes">): string {
  return `${count(project.fileCount)} ${project.fileCount === 1 ? "file" : "files"} · ${bytes(project.bytes)}`;
}

/** addressOf is where a file of a project is shown, below the workspace. */
export function addressOf(slug: string, path = ""): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return path === "" ? `projects/${slug}/files` : `projects/${slug}/files/${encoded}`;
}

/** authorOf is who wrote a file last: a person, or an agent in their name. */
export function authorOf(entry: Pick<Entry, "updatedBy">): string | undefined {
  const by = entry.updatedBy;
  if (!by) return undefined;
  if (by.username) return by.agent ? `${by.agent} for ${by.username}` : by.username;
  return { key: "an API key", system: "the service", operator: "the operator", channel: "a channel", account: "a deleted account", anonymous: undefined }[by.kind];
}

/** nameFor is what a project of these files might be called: as their folder, or as the first of them. */
export function nameFor(paths: readonly string[]): string {
  const [first = "", ...rest] = (paths[0] ?? "").split("/");
  return rest.length > 0 ? first : first.replace(/(?!^)\.[^.]*$/, "");
}

/** slugOf is the name in addresses that a project of this name would have. The service makes it alike (service/scope). */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64)
    .replace(/-+$/, "");
}
