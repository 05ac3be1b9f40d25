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
    const printed = await Promise.all(names.map(print));
    assert.ok(printed.flat().length >= 8);
  });

  /** print runs a program, and holds what it prints to the comments behind what prints it. */
  const print = async (name: string): Promise<string[]> => {
    const source = await readFile(new URL(`${name}.ts`, sources), "utf8");
    const want = [...source.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line!);
    const program = new URL(`readme/${name}.js`, import.meta.url).pathname;
    const { stdout } = await run(process.execPath, [program], { env: { ...process.env, SVC_README_URL: contract.url }, timeout: 60_000 });
    const lines = stdout.split("\n").map((line) => line.trim()).filter(Boolean);
    assert.deepEqual(lines, want, name);
    return lines;
  };
});
