// Writes the programs of README.md to test/readme, so that they are compiled and tried with the tests.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";

const folder = new URL("../test/readme/", import.meta.url);
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });

const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
const programs = [...text.matchAll(/^```tsx\n(.*?)^```$/gms)].map(([, program]) => program);
for (const [i, program] of programs.entries()) {
  // The address is that of the test's own program, beside its pages.
  await writeFile(new URL(`example${i + 1}.tsx`, folder), program.replaceAll('"http://127.0.0.1:3583"', '"/api"'));
}
