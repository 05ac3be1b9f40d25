import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");

test("the lock file names no registry, and packages run nothing when they are installed", () => {
  const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, { resolved?: string; link?: boolean }> };
  const addressed = Object.entries(lock.packages).filter(([, each]) => each.resolved !== undefined && !each.link);
  expect(addressed).toEqual([]);
  expect(read(".npmrc")).toContain("ignore-scripts=true");
});

test("versions are exact, or of this repository", () => {
  const { dependencies, devDependencies } = JSON.parse(read("package.json")) as Record<string, Record<string, string>>;
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) expect([name, version]).toEqual([name, expect.stringMatching(/^(\d+\.\d+\.\d+|file:\.\.\/sdk\/.+)$/)]);
});

test("the lock file holds what every platform needs", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, { optionalDependencies?: Record<string, string> }> };
  const wanted = Object.values(packages).flatMap((each) => Object.keys(each.optionalDependencies ?? {}));
  expect(wanted.filter((name) => !(`node_modules/${name}` in packages))).toEqual([]);
});
