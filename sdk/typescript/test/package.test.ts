import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = new URL("..", import.meta.url).pathname;
const tool = (name: string): string => join(root, "node_modules/.bin", name);

test("the package is what its users expect of one", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-sdk-pack-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // What it packs was built a moment ago.
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: root });
  const [packed] = JSON.parse(stdout) as [{ filename: string; size: number; files: { path: string }[] }];
  const files = packed.files.map((file) => file.path);
  t.diagnostic(`${packed.filename}: ${packed.size} bytes, ${files.length} files`);
  assert.ok(files.includes("dist/index.js") && files.includes("dist/index.d.ts") && files.includes("README.md"));
  assert.deepEqual(files.filter((file) => !/^(dist\/|README\.md$|LICENSE$|package\.json$)/.test(file)), []);
  const archive = join(folder, packed.filename);
  await run(tool("publint"), ["run", archive, "--strict"], { cwd: root });
  await run(tool("attw"), [archive, "--profile", "esm-only"], { cwd: root });
});

test("it needs nothing to run, and its lock file names no registry", async () => {
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
  assert.doesNotMatch(await readFile(join(root, "package-lock.json"), "utf8"), /"resolved"|https?:\/\/[^"]*registry/);
});
