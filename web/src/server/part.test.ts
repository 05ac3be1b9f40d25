import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

test("every part of the application is loaded by part, so that one which did not come can be tried again", () => {
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && !/\.test\./.test(name));
  const lazily = sources.filter((name) => /\blazy\(/.test(readFileSync(join("src", name), "utf8")));
  expect(lazily).toEqual([join("server", "part.tsx")]);
});
