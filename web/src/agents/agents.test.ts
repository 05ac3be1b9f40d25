import { expect, test } from "vitest";
import { folded } from "./Difference";
import { blank, changesOf, editOf, isName, toolCount } from "./agent";
import { writtenSince } from "./draft";
import { changedLines, compare, mergeLines } from "./lines";
import { staysAt } from "./LeaveDialog";
import { merge, mergeLists } from "./merge";
import { placeIn } from "./place";
import { hostsIn } from "./HostsField";
import { readSchema } from "./SchemaField";
import { groupsOf, withTool } from "./tools";

test("what is written while a save is on its way is the next draft", () => {
  const sent = { ...blank, description: "Sorts." };
  const now = { ...sent, description: "Sorts mail." };
  const answer = { ...sent, version: 2 };
  expect(writtenSince(answer, sent, sent)).toBeUndefined();
  expect(writtenSince(answer, sent, undefined)).toBeUndefined();
  expect(writtenSince(answer, sent, now)).toEqual({ version: 2, base: sent, mine: now });
});

test("only what differs is sent, and space around a text is no difference", () => {
  const after = { ...blank, instructions: "Sort.\n", tools: ["read_file"] };
  expect(changesOf({ ...blank, instructions: "Sort." }, after)).toEqual(["tools"]);
  expect(editOf({ ...blank, instructions: "Sort." }, after)).toEqual({ tools: ["read_file"] });
  expect(editOf({ ...blank, reasoning: "low" }, blank)).toEqual({ reasoning: null });
});

test("names are those that the service takes", () => {
  expect(["triage", "on-call-2", "a"].every(isName)).toBe(true);
  expect(["", "A", "a--b", "-a", "a-", "a_b", "x".repeat(65)].some(isName)).toBe(false);
});

test("an agent that asks two others has one tool for it", () => {
  expect(toolCount({ tools: [], mcps: [] })).toBe("no tools");
  expect(toolCount({ tools: ["ask_agent:a", "ask_agent:b"], mcps: [] })).toBe("1 tool");
  expect(toolCount({ tools: ["read_file", "write_file"], mcps: ["linear"] })).toBe("2 tools, 1 MCP");
});

test("a difference is told line by line", () => {
  const told = compare("a\nb\nc", "a\nx\nc\nd").map(({ kind, text }) => `${kind} ${text}`);
  expect(told).toEqual(["same a", "gone b", "new x", "same c", "new d"]);
  expect(compare("a", "a")).toEqual([{ kind: "same", text: "a" }]);
  expect([...changedLines("a\nb\nc", "a\nx\nc\nd")]).toEqual([1, 3]);
});

test("a difference puts both texts together again", () => {
  const words = ["a", "b", "c"];
  let seed = 7;
  const any = (): number => (seed = (seed * 1103515245 + 12345) % 2147483648);
  const text = (): string => Array.from({ length: any() % 7 }, () => words[any() % 3]).join("\n");
  for (let i = 0; i < 500; i++) {
    const [before, after] = [text(), text()];
    const told = compare(before, after);
    expect(told.filter((line) => line.kind !== "new").map((line) => line.text).join("\n")).toBe(before);
    expect(told.filter((line) => line.kind !== "gone").map((line) => line.text).join("\n")).toBe(after);
  }
});

test("changes in different places are both kept, and in the same place neither", () => {
  const base = "one\ntwo\nthree\nfour";
  expect(mergeLines(base, "ONE\ntwo\nthree\nfour", "one\ntwo\nthree\nFOUR\nfive")).toBe("ONE\ntwo\nthree\nFOUR\nfive");
  expect(mergeLines(base, base, "two")).toBe("two");
  expect(mergeLines(base, "one\nTWO\nthree\nfour", "one\nzwei\nthree\nfour")).toBeUndefined();
  expect(mergeLines("", "mine", "mine")).toBe("mine");
});

test("two people's changes are put together, and what they disagree on is asked", () => {
  const base = { ...blank, description: "d", model: "scripted/words", tools: ["read_file", "write_file"] };
  const mine = { ...base, description: "mine", tools: ["read_file", "write_file", "http_fetch"] };
  const theirs = { ...base, description: "theirs", model: "openai/x", tools: ["read_file"] };
  const { merged, clashes, taken } = merge(base, mine, theirs);
  expect(merged).toMatchObject({ description: "mine", model: "openai/x", tools: ["read_file", "http_fetch"] });
  expect(clashes).toEqual(["description"]);
  expect(taken).toEqual(["model", "tools"]);
  expect(mergeLists(["a", "b"], ["b", "c"], ["a", "b", "d"])).toEqual(["b", "c", "d"]);
});

const offered = (name: string, source: string) => ({ name, source, description: "", inputSchema: {} });

test("tools stand by their source, and one that is gone is still shown", () => {
  const groups = groupsOf([offered("read_file", "built-in"), offered("http_fetch", "built-in"), offered("linear__find", "mcp")], ["read_file", "linear__find", "linear__gone", "ask_agent:writer"], ["other"]);
  expect(groups.map((group) => [group.id, group.entries.map((entry) => entry.name)])).toEqual([
    ["files", ["read_file"]],
    ["built-in", ["http_fetch"]],
    ["mcp:linear", ["linear__find"]],
    ["mcp:other", []],
    ["gone", ["linear__gone", "ask_agent"]],
  ]);
});

test("switching a tool off takes all its forms away", () => {
  expect(withTool(["ask_agent:a", "read_file", "ask_agent:b"], "ask_agent", false)).toEqual(["read_file"]);
  expect(withTool(["read_file"], "http_fetch", true)).toEqual(["read_file", "http_fetch"]);
  expect(withTool(["ask_agent:a"], "ask_agent", true)).toEqual(["ask_agent:a"]);
});

test("what is far from a change is folded, and a single line is not", () => {
  const text = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i}`).join("\n");
  const told = folded(compare(text(12), `${text(12)}\nmore`)).map((line) => line.text);
  expect(told).toEqual(["… 9 lines", "line 9", "line 10", "line 11", "more"]);
  expect(folded(compare(text(4), `${text(4)}\nmore`))).toHaveLength(5);
});

test("an address says what is shown", () => {
  expect(placeIn("", {})).toMatchObject({ name: undefined, part: "edit", making: undefined });
  expect(placeIn("", { new: "blank" })).toMatchObject({ making: "blank" });
  expect(placeIn("new", {})).toMatchObject({ name: "new", making: undefined });
  expect(placeIn("triage", { part: "versions" })).toMatchObject({ name: "triage", part: "versions", version: undefined });
  expect(placeIn("triage/versions/3", {})).toMatchObject({ part: "versions", version: "3" });
  expect(placeIn("triage", { try: "a" })).toMatchObject({ part: "try", conversation: "a" });
  expect(placeIn("triage", { part: "nonsense" })).toMatchObject({ part: "edit" });
});

test("between the parts of an agent nobody is asked whether they leave", () => {
  expect(staysAt("agents/on-call", "/w/ada/labs/agents/on-call/versions/3")).toBe(true);
  expect(staysAt("agents/on-call", "/w/ada/labs/agents/on-call-2")).toBe(false);
  expect(staysAt("agents/on-call", "/w/ada/labs/agents")).toBe(false);
});

test("what is typed becomes hosts and a schema, or neither", () => {
  expect(hostsIn(" API.example.com,  *.example.org api.example.com")).toEqual(["api.example.com", "*.example.org"]);
  expect(readSchema('{"type":"object"}').schema).toEqual({ type: "object" });
  expect([readSchema("[]").wrong, readSchema("{").wrong].every(Boolean)).toBe(true);
});
