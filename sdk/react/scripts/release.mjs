// Packs what is published, into build/release. In the repository the package is private and @svc/sdk is the folder beside it; what
// is published depends on the version that this folder has.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

const root = new URL("..", import.meta.url);
const json = async (path) => JSON.parse(await readFile(new URL(path, root), "utf8"));

const { private: _, scripts, devDependencies, ...kept } = await json("package.json");
const { version } = await json("../typescript/package.json");
const target = new URL("build/release/package/", root);
await rm(new URL("build/release/", root), { recursive: true, force: true });
await mkdir(target, { recursive: true });
for (const part of ["dist", "README.md", "LICENSE"]) await cp(new URL(part, root), new URL(part, target), { recursive: true });
await writeFile(new URL("package.json", target), JSON.stringify({ ...kept, dependencies: { "@svc/sdk": `^${version}` } }, null, 2) + "\n");

const { stdout } = await promisify(execFile)("npm", ["pack", "--json", "--pack-destination", new URL("build/release/", root).pathname], { cwd: target });
process.stdout.write(stdout);
