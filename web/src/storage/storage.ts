import type { AnswerOf } from "@svc/sdk";
import type { Tone } from "../kit/StatusTag";

/** Storage is how much a workspace stores, as the service measured it. */
export type Storage = AnswerOf<"/api/workspaces/{username}/{business}/storage", "get">;

export interface Kind {
  readonly name: string;
  readonly note: string;
  readonly bytes: number;
  /** The class that has its colour. */
  readonly tone: string;
}

/** kindsOf are the parts of what is stored, and what is about to be. */
export function kindsOf(storage: Storage): Kind[] {
  const { projects, attachments, streams, snapshots } = storage.byKind;
  return [
    { name: "Project files", note: "what people and agents wrote", bytes: projects, tone: "of-files" },
    { name: "Attachments", note: "images in conversations", bytes: attachments, tone: "of-images" },
    { name: "Conversations and runs", note: "every message, step and event", bytes: streams, tone: "of-streams" },
    { name: "Snapshots", note: "what conversations are read from", bytes: snapshots, tone: "of-snapshots" },
    { name: "Reserved", note: "uploads on their way", bytes: storage.reservedBytes, tone: "of-reserved" },
  ];
}

/** stateOf is how full that is in a word, and what to do about it. */
export function stateOf(storage: Pick<Storage, "state">): { tone: Tone; word: string; advice?: string } {
  switch (storage.state) {
    case "warning":
      return { tone: "warn", word: "Nearly full", advice: "Nearly full. When there is no room left, nothing new is written; reading and deleting still work." };
    case "over":
      return { tone: "bad", word: "Full", advice: "There is no room left: prompts, runs and uploads are refused. Reading and deleting still work." };
    case "blocked":
      return { tone: "bad", word: "Blocked", advice: "This workspace may not store anything. Ask whoever runs the service for room." };
  }
  return { tone: "ok", word: "Room left" };
}

/** largestFirst are projects by what they take; those alike by name. */
export function largestFirst<P extends { readonly bytes: number; readonly name: string }>(projects: readonly P[]): P[] {
  return [...projects].sort((a, b) => b.bytes - a.bytes || a.name.localeCompare(b.name, "en"));
}
