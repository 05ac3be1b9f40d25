import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folder = new URL(".", import.meta.url);

/** The sheets that stand on every page; those of pages come when one is opened, and stay. */
const shared = new Set([...readFileSync(new URL("../main.tsx", folder), "utf8").matchAll(/look\/(\w+\.css)/g)].map(([, name]) => name));

/** begins are the classes that the selectors of a sheet begin with. */
function begins(sheet: string): Set<string> {
  const rules = readFileSync(new URL(sheet, folder), "utf8").replace(/\/\*[^]*?\*\//g, "").replace(/@(media|container|supports)[^{]*\{/g, "");
  const found = [...rules.matchAll(/([^{}]+)\{[^{}]*\}/g)].flatMap(([, selectors = ""]) => selectors.split(","));
  return new Set(found.flatMap((selector) => /^\s*\.([\w-]+)/.exec(selector)?.[1] ?? []));
}

test("a class that begins a rule is that of one page", () => {
  const sheets = readdirSync(folder).filter((name) => name.endsWith(".css"));
  const common = new Set(sheets.filter((name) => shared.has(name)).flatMap((name) => [...begins(name)]));
  const owners = new Map<string, string>();
  const twice: string[] = [];
  for (const sheet of sheets.filter((name) => !shared.has(name))) {
    for (const name of begins(sheet)) {
      if (common.has(name)) continue;
      if (owners.has(name)) twice.push(`.${name} of ${owners.get(name)} and ${sheet}`);
      owners.set(name, sheet);
    }
  }
  expect(twice).toEqual([]);
});

/** coloursOf are the tokens of a sheet that have a value for each scheme. */
function coloursOf(sheet: URL): Map<string, string> {
  return new Map([...readFileSync(sheet, "utf8").matchAll(/(--[\w-]+):\s*(light-dark\(#\w+, #\w+\))/g)].map(([, name = "", value = ""]) => [name, value]));
}

test("the pages without scripts have the colours of the application", () => {
  const own = coloursOf(new URL("tokens.css", folder));
  const plain = coloursOf(new URL("../../../service/page/assets/style.css", folder));
  expect(plain.size).toBeGreaterThan(20);
  expect([...plain].filter(([name, value]) => own.get(name) !== value)).toEqual([]);
});
