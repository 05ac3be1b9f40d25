import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const run = promisify(execFile);
const root = new URL("..", import.meta.url).pathname;
const tool = (name: string): string => join(root, "node_modules/.bin", name);
const json = async (path: string): Promise<any> => JSON.parse(await readFile(join(root, path), "utf8"));

describe("what is published", () => {
  let archive: string;
  let files: string[];

  before(async () => {
    const { stdout } = await run("node", ["scripts/release.mjs"], { cwd: root });
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    archive = join(root, "build/release", packed.filename);
    files = packed.files.map((file) => file.path);
  });

  test("it is the package, and depends on the published client", async () => {
    assert.ok(files.includes("dist/index.js") && files.includes("dist/index.d.ts"));
    assert.deepEqual(files.filter((file) => !/^(dist\/|README\.md$|LICENSE$|package\.json$)/.test(file)), []);
    const [own, sdk, published] = await Promise.all(["package.json", "../typescript/package.json", "build/release/package/package.json"].map(json));
    assert.equal(own.private, true, "what is in the repository cannot be published");
    assert.deepEqual([published.private, published.scripts, published.devDependencies], [undefined, undefined, undefined]);
    assert.deepEqual(published.dependencies, { "@svc/sdk": `^${sdk.version}` });
    assert.deepEqual(published.peerDependencies, { react: ">=18" });
    await run(tool("publint"), ["run", archive, "--strict"], { cwd: root });
    await run(tool("attw"), [archive, "--profile", "esm-only"], { cwd: root });
  });

  test("it renders on a server, and asks for nothing there", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "svc-react-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, "node_modules/@svc/react"), { recursive: true });
    await run("tar", ["-xzf", archive, "--strip-components=1", "-C", join(folder, "node_modules/@svc/react")]);
    await symlink(join(root, "../typescript"), join(folder, "node_modules/@svc/sdk"));
    for (const name of ["react", "react-dom", "scheduler"]) await symlink(join(root, "node_modules", name), join(folder, "node_modules", name));
    await writeFile(join(folder, "page.mjs"), page);
    const { stdout } = await run("node", ["--preserve-symlinks", "page.mjs"], { cwd: folder });
    assert.equal(stdout.trim(), "<p>loading 0 loading idle</p> 0");
  });

  test("the lock file names no registry", async () => {
    const text = await readFile(join(root, "package-lock.json"), "utf8");
    assert.doesNotMatch(text.replace('"resolved": "../typescript"', ""), /"resolved"|https?:\/\/[^"]*registry/);
  });

  test("the hooks add little to a page", async (t) => {
    const size = async (contents: string): Promise<number> => {
      const stdin = { contents, resolveDir: root };
      const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", target: "es2022", external: ["react"], write: false });
      return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
    };
    const client = 'export { createClient } from "@svc/sdk";';
    const [alone, both] = [await size(client), await size(`${client} export * from "@svc/react";`)];
    t.diagnostic(`the client ${alone} bytes gzipped, with the hooks ${both}`);
    assert.ok(both - alone <= 6 * 1024, `${both - alone} bytes`);
  });
});

const page = `
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { createClient } from "@svc/sdk";
import { SvcProvider, useAgent, useRun, useWorkflow } from "@svc/react";
let asked = 0;
const client = createClient({ baseUrl: "https://svc.example/v1", fetch: async () => { asked++; throw new Error("no"); } });
function Page() {
  const { status, messages } = useAgent("assistant", "1");
  return createElement("p", null, [status, messages.length, useRun("run_1").status, useWorkflow("steps").status].join(" "));
}
console.log(renderToString(createElement(SvcProvider, { client }, createElement(Page))), asked);
`;
