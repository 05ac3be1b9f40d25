import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { Stage, skip } from "./support/stage.js";

const sources = new URL("../test/readme/", import.meta.url);

describe("the pages of the README", { skip }, () => {
  let stage: Stage;
  before(async () => void (stage = await Stage.open()));
  after(() => stage?.close());

  test("they show what they say", async () => {
    const names = (await readdir(sources)).map((name) => name.replace(".tsx", ""));
    assert.ok(names.length >= 3);
    for (const name of names) {
      const source = await readFile(new URL(`${name}.tsx`, sources), "utf8");
      const wants = [...source.matchAll(/^\/\/ Press "(.*)": (.*)$/gm)];
      assert.ok(wants.length >= 1, name);
      const page = await stage.page(name);
      for (const [, button, text] of wants) {
        await page.getByRole("button", { name: button!, exact: true }).click();
        await page.getByText(text!).first().waitFor({ timeout: 20_000 });
      }
      await page.close();
    }
    assert.deepEqual(stage.complaints, []);
  });
});
