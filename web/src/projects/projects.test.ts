import { Text } from "@codemirror/state";
import { SvcError } from "@svc/sdk";
import { expect, test, vi } from "vitest";
import { refusalOf } from "../server/content";
import { keepDraft, moveDraft, recallDraft } from "./draft";
import { brief } from "./FileTree";
import { changedLines } from "./marks";
import { merge, piecesOf } from "./merge";
import { foldersOf, imageTypeOf, lookOf, problemOf } from "./path";
import { addressOf, authorOf, nameFor, slugOf } from "./project";
import { tabIn } from "./tab";
import { isPulling } from "./Pulling";
import { refusedFor } from "./room";
import { breakOf, textIn } from "./text";
import { rowsOf, stepIn, type Entry, type Folder } from "./tree";
import { secondsLeft } from "./uploads";
import { whereOf } from "./useText";

const file = (path: string): Entry => ({ path, kind: "file", bytes: 1, etag: '"a"' });
const folder = (path: string): Entry => ({ path, kind: "folder" });
const folders = new Map<string, Folder>([
  ["", { entries: [file("b10.md"), file("B2.md"), folder("notes")], more: false }],
  ["notes", { entries: [file("notes/a.md")], more: true }],
]);

test("a tree has folders first and counts as people do; what is below a closed folder is not there", () => {
  expect(rowsOf(folders, new Set()).map((row) => row.path)).toEqual(["notes", "B2.md", "b10.md"]);
  expect(rowsOf(folders, new Set(["notes"])).map((row) => `${row.level} ${row.kind} ${row.path}`)).toEqual(["1 folder notes", "2 file notes/a.md", "2 more notes", "1 file B2.md", "1 file b10.md"]);
  expect(rowsOf(new Map(), new Set()).map((row) => row.kind)).toEqual(["loading"]);
});

test("arrows open, close and leave a folder; letters find names", () => {
  const closed = rowsOf(folders, new Set());
  const open = rowsOf(folders, new Set(["notes"]));
  expect(stepIn(closed, 0, "ArrowRight")).toEqual({ toggle: "notes" });
  expect(stepIn(open, 0, "ArrowRight")).toEqual({ to: 1 });
  expect(stepIn(open, 1, "ArrowLeft")).toEqual({ to: 0 });
  expect(stepIn(open, 0, "ArrowLeft")).toEqual({ toggle: "notes" });
  expect(stepIn(open, 4, "ArrowDown")).toEqual({ to: 4 });
  expect(stepIn(open, 0, "End")).toEqual({ to: 4 });
  expect(stepIn(open, 0, "b")).toEqual({ to: 3 });
  expect(stepIn(open, 3, "b")).toEqual({ to: 4 });
  expect(stepIn(open, 1, "ArrowRight")).toBeUndefined();
  expect(stepIn([], 0, "ArrowDown")).toBeUndefined();
});

test("a path is refused for what the service refuses it for", () => {
  expect(["notes/a.md", "%2e%2e", "a b", "ü.md", "..a"].map(problemOf)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  for (const path of ["", "/a", "a//b", "a/", "..", "a/./b", "a\\b", "a\u0000b", ".SVC-tmp-1", "x".repeat(256), "a/".repeat(32) + "a", "x/".repeat(520)]) expect([path, problemOf(path)]).toEqual([path, expect.any(String)]);
});

test("an address has each part of a path encoded", () => {
  expect(addressOf("ops", "a b/50%/c#d?.md")).toBe("projects/ops/files/a%20b/50%25/c%23d%3F.md");
  expect(addressOf("ops")).toBe("projects/ops/files");
  expect(tabIn("files/a b/c.md")).toEqual({ tab: "files", rest: "a b/c.md" });
  expect(tabIn("")).toEqual({ tab: "files", rest: "" });
  expect(tabIn("repository")).toEqual({ tab: "repository", rest: "" });
  expect(tabIn("nonsense").tab).toBeUndefined();
  expect(foldersOf("a/b/c.md")).toEqual(["a", "a/b"]);
});

test("a file is shown by its name, and a drawing never as a document", () => {
  expect(["a.PNG", "a.md", "a.svg", "a.zip", "Makefile", "a.csv"].map(lookOf)).toEqual(["image", "markdown", "drawing", "other", "text", "text"]);
  expect([imageTypeOf("a.jpg"), imageTypeOf("a.svg")]).toEqual(["image/jpeg", "image/svg+xml"]);
});

test("bytes that are no text are not shown as one, and a mark at the beginning stays", async () => {
  expect(await textIn(new Blob(["\ufeffhé"]))).toBe("\ufeffhé");
  expect(await textIn(new Blob([new Uint8Array([0xff, 0xfe, 0x41])]))).toBeUndefined();
  expect(await textIn(new Blob([new Uint8Array([0x41, 0, 0x42])]))).toBeUndefined();
  expect([breakOf("a\r\nb\r\n"), breakOf("a\nb"), breakOf("a\r\nb\n"), breakOf("a")]).toEqual(["\r\n", "\n", "\n", "\n"]);
});

test("a draft goes along with its file, and nothing goes where there is none", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, text: string) => kept.set(name, text), removeItem: (name: string) => kept.delete(name) });
  const draft = { etag: '"a"', base: "one", text: "one and two" };
  keepDraft("/a.md", draft);
  moveDraft("/a.md", "/b.md");
  expect([recallDraft("/a.md"), recallDraft("/b.md")]).toEqual([undefined, draft]);
  moveDraft("/a.md", "/b.md");
  expect(recallDraft("/b.md")).toEqual(draft);
  vi.unstubAllGlobals();
});

test("changes of two people are joined where they do not meet", () => {
  const base = "one\ntwo\nthree\nfour\nfive";
  expect(merge(base, "ONE\ntwo\nthree\nfour\nfive", "one\ntwo\nthree\nfour\nFIVE")).toEqual({ text: "ONE\ntwo\nthree\nfour\nFIVE", clashes: 0 });
  expect(merge(base, "one\ntwo\nthree\nfour\nfive\nsix", "zero\none\ntwo\nthree\nfour\nfive")).toEqual({ text: "zero\none\ntwo\nthree\nfour\nfive\nsix", clashes: 0 });
  expect(merge(base, "one\nTHEIRS\nthree\nfour\nfive", "one\nMINE\nthree\nfour\nfive")).toEqual({ text: "one\nMINE\nthree\nfour\nfive", clashes: 1 });
  expect(merge(base, "one\nsame\nthree\nfour\nfive", "one\nsame\nthree\nfour\nfive")).toEqual({ text: "one\nsame\nthree\nfour\nfive", clashes: 0 });
  expect(merge(base, base, "mine")).toEqual({ text: "mine", clashes: 0 });
  expect(merge(base, "theirs", base)).toEqual({ text: "theirs", clashes: 0 });
  expect(merge("a\nb", "a", "a\nb\nc")).toMatchObject({ clashes: 1 });
});

test("merging gives back either side when the other did nothing, whatever they wrote", () => {
  let seed = 7;
  const next = (most: number): number => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) % most;
  const text = (): string => Array.from({ length: next(9) }, () => "abc"[next(3)]).join("\n");
  const wrong: string[] = [];
  for (let i = 0; i < 500; i++) {
    const [base, other] = [text(), text()];
    for (const { text: merged, clashes } of [merge(base, other, base), merge(base, base, other), merge(base, other, other)]) {
      if (merged !== other || clashes !== 0) wrong.push(JSON.stringify([base, other, merged, clashes]));
    }
  }
  expect(wrong).toEqual([]);
});

test("pieces say where lines are new, and words say it too", () => {
  expect(piecesOf(["a", "b", "c"], ["a", "x", "y", "c"])).toEqual([{ from: 1, to: 2, lines: ["x", "y"] }]);
  expect(whereOf("a\nb\nc", "a\nx\ny\nc")).toBe("lines 2 to 3");
  expect(whereOf("a\nb\nc", "a\nx\nc")).toBe("line 2");
  expect(whereOf("a", "a")).toBe("");
});

test("the lines that are marked are those that differ", () => {
  const of = (text: string): Text => Text.of(text.split("\n"));
  expect([...changedLines(of("a\nb\nc"), of("a\nx\nc\nd"))]).toEqual([2, 4]);
  expect(changedLines(of("a"), of("a")).size).toBe(0);
});

test("a full workspace is told in figures", () => {
  const full = refusalOf(507, JSON.stringify({ error: { type: "storage_quota_exceeded", message: "m", meta: { limitBytes: 10 * 2 ** 20, usedBytes: 8 * 2 ** 20, requestedBytes: 5 * 2 ** 20 } } }), "req_1");
  expect(full).toMatchObject({ status: 507, type: "storage_quota_exceeded", requestId: "req_1" });
  expect(refusedFor(full)).toBe("3 MB too much: this needs 5 MB, and 2 MB of 10 MB are left. Delete something, then try again.");
  expect(refusedFor(new SvcError({ status: 413, type: "body_too_large", message: "m", meta: { limit: 2 ** 30 } }))).toContain("1 GB");
  expect(refusalOf(502, "<html>", null)).toMatchObject({ status: 502, type: "http_error" });
});

test("what is left of an upload is told by its pace", () => {
  expect(secondsLeft({ sent: 50, size: 100, startedAt: 0 }, 2_000)).toBe(2);
  expect(secondsLeft({ sent: 0, size: 100, startedAt: 0 }, 2_000)).toBeUndefined();
});

test("an author is named as people know them", () => {
  const by = { kind: "account" as const, id: "acc_1", username: "ada" };
  expect(authorOf({ updatedBy: by })).toBe("ada");
  expect(authorOf({ updatedBy: { ...by, agent: "triage" } })).toBe("triage for ada");
  expect(authorOf({ updatedBy: { kind: "system", id: "", username: "" } })).toBe("the service");
  expect(authorOf({})).toBeUndefined();
});

test("a pull that was not heard of for too long has died", () => {
  const pulling = { done: 1, total: 2, until: "2026-11-17T11:00:00Z" };
  const at = (time: string): boolean => isPulling({ pulling }, new Date(time).getTime());
  expect([at("2026-11-17T10:59:59Z"), at("2026-11-17T11:00:01Z"), isPulling({})]).toEqual([true, false, false]);
});

test("a slug is made as the service makes it", () => {
  expect(["A.Lo+x", "__a__", "ÄÖ", "a--b", "My Größe Site!"].map(slugOf)).toEqual(["a-lo-x", "a", "", "a-b", "my-gr-e-site"]);
});

test("ages in a tree are brief", () => {
  const now = new Date("2026-11-17T11:00:00Z");
  expect(["2026-11-17T10:55:00Z", "2026-11-17T07:00:00Z", "2026-11-15T11:00:00Z", "2026-08-03T11:00:00Z", "2025-08-03T11:00:00Z"].map((at) => brief(new Date(at), now))).toEqual(["5 min", "4 h", "2 d", "3 Aug", "3 Aug 2025"]);
});

test("a project of files is called as their folder, or as the first of them", () => {
  expect([["notes.md", "b.md"], ["Night shift/a.md"], [".env"], ["a.tar.gz"], []].map(nameFor)).toEqual(["notes", "Night shift", ".env", "a.tar", ""]);
});
