// Makes programs of the tests, and scripts of the pages that they look at: with the React of today as it is shipped and as it is
// developed with, and with the oldest that the package takes.
import { readdir } from "node:fs/promises";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const files = async (folder, pattern) => (await readdir(root + folder)).filter((name) => pattern.test(name)).map((name) => `${root}${folder}/${name}`);

await build({ entryPoints: await files("test", /\.test\.ts$/), outdir: `${root}build`, bundle: true, platform: "node", target: "node20", format: "esm", packages: "external" });

const old = { react: "react-18", "react-dom": "react-dom-18" };
const variants = { production: {}, development: {}, old: old, "old-development": old };
const pages = [...(await files("test/pages", /\.tsx$/)), ...(await files("test/readme", /\.tsx$/))];
for (const [variant, alias] of Object.entries(variants)) {
  const mode = variant.endsWith("development") ? "development" : "production";
  await build({ entryPoints: pages, outdir: `${root}build/pages/${variant}`, entryNames: "[name]", bundle: true, format: "iife", jsx: "automatic", alias, define: { "process.env.NODE_ENV": `"${mode}"` }, logLevel: "warning" });
}
