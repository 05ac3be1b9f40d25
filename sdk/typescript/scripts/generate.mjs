// Writes the types of the product's API from its description: src/generated/paths.ts. The paths below /v1 are left out: they are the
// runtime's, which this package speaks itself.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../../api/openapi.json", import.meta.url);
const target = new URL("../src/generated/paths.ts", import.meta.url);

const description = JSON.parse(await readFile(source, "utf8"));
for (const path of Object.keys(description.paths)) {
  if (path.startsWith("/v1/")) delete description.paths[path];
}

// The last parameter of these has slashes.
const tails = Object.entries(description.paths)
  .filter(([, item]) => item["x-path-tail"])
  .map(([path]) => "/" + path.split("/").slice(-2).join("/"));

const types = astToString(await openapiTS(description, { exportType: false }));
await mkdir(new URL(".", target), { recursive: true });
await writeFile(target, `${types}\nexport const tails: readonly string[] = ${JSON.stringify([...new Set(tails)])};\n`);
