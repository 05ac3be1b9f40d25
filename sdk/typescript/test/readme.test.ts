import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Contract, missing } from "./support/contract.js";

const run = promisify(execFile);
const sources = new URL("../test/readme/", import.meta.url);

describe("the programs of the README", { skip: missing }, () => {
  let contract: Contract;
  before(async () => void (contract = await Contract.start()));
  after(() => contract.stop());

  test("they print what they say", async () => {
    const names = (await readdir(sources)).map((name) => name.replace(".ts", ""));
    assert.ok(names.length >= 5);
    let printed = 0;
    for (const name of names) {
      const source = await readFile(new URL(`${name}.ts`, sources), "utf8");
      const want = [...source.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line!);
      const program = new URL(`readme/${name}.js`, import.meta.url).pathname;
      const { stdout } = await run(process.execPath, [program], { env: { ...process.env, SVC_README_URL: contract.url }, timeout: 20_000 });
      assert.deepEqual(stdout.split("\n").filter(Boolean).map((line) => line.trim()), want, name);
      printed += want.length;
    }
    assert.ok(printed >= 8);
  });
});
