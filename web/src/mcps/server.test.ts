import { expect, test } from "vitest";
import { argsIn, envIn } from "./program";
import { found, nameFor, toolsOn, type Server } from "./server";

test("an address proposes a name that nobody has", () => {
  expect(nameFor("https://mcp.linear.app/mcp", [])).toBe("linear");
  expect(nameFor("https://mcp.linear.app/mcp", ["linear", "linear-2"])).toBe("linear-3");
  expect(nameFor("http://127.0.0.1:9000/mcp", [])).toBe("server");
  expect(nameFor("https://tools.northwind.example/mcp", [])).toBe("tools");
  expect(nameFor("", [])).toBe("server");
});

test("a program is named by its file, and its arguments and variables are lines", () => {
  expect(nameFor("/usr/local/bin/mcp-server-git", [])).toBe("git");
  expect(nameFor("node", ["node"])).toBe("node-2");
  expect(argsIn("--root\n\n/srv/my files\n")).toEqual(["--root", "/srv/my files"]);
  expect(envIn("TOKEN=a=b c\nPIN=")).toEqual({ TOKEN: "a=b c", PIN: "" });
  expect([envIn(""), envIn("not a variable"), envIn("2X=1")]).toEqual([{}, undefined, undefined]);
});

test("a server is found by its name and its address", () => {
  const all = [{ name: "linear", url: "https://mcp.linear.app/mcp" }, { name: "docs", url: "https://docs.example/mcp" }] as Server[];
  expect(found(all, "").length).toBe(2);
  expect(found(all, "EXAMPLE").map((each) => each.name)).toEqual(["docs"]);
  expect(found(all, "linear docs")).toEqual([]);
});

test("tools of a server that nobody has connected are unknown", () => {
  expect(toolsOn({ toolCount: 0, enabledCount: 0, status: "connecting" })).toBe("tools unknown");
  expect(toolsOn({ toolCount: 0, enabledCount: 0, status: "ok" })).toBe("no tools");
  expect(toolsOn({ toolCount: 22, enabledCount: 14, status: "ok" })).toBe("14 of 22 tools on");
});
