import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const most = 12 * 1024;

/** size is what a page loads that has this program. */
async function size(program: string): Promise<number> {
  const resolveDir = new URL("..", import.meta.url).pathname;
  const { outputFiles } = await build({ stdin: { contents: program, resolveDir }, bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022", write: false });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}

test("a page that only observes loads at most 12 KB", async (t) => {
  const observing = await size('import { connect, observe } from "@svc/sdk"; export const o = observe(connect({ baseUrl: "/v1" }), "a", "b");');
  const everything = await size('export * from "@svc/sdk";');
  t.diagnostic(`figure size-of-observe ${observing} bytes gzipped, of ${most} at most; everything: ${everything}`);
  assert.ok(observing <= most, `${observing} bytes`);
  assert.ok(observing < everything, "what is not used is shaken off");
});
