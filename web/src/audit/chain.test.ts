import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { linesOf, verify } from "./chain";

/** chained writes events as the service does: the hash is of the bytes of prevHash and the text without the hash. */
function chained(actions: readonly string[]): string[] {
  let prevHash = "0".repeat(64);
  return actions.map((action, i) => {
    const text = `{"action":${JSON.stringify(action)},"chain":"users/ada/labs","prevHash":"${prevHash}","seq":${i + 1}}`;
    const hash = createHash("sha256").update(Buffer.from(prevHash, "hex")).update(text).digest("hex");
    prevHash = hash;
    return text.replace('"users/ada/labs",', `"users/ada/labs","hash":"${hash}",`);
  });
}

const lines = chained(["key.created", "key.revoked", 'a "hash":"00" in a text', "workspace.renamed"]);

test("a log as it was written holds to its end", async () => {
  const told: number[] = [];
  expect(await verify(lines, (seq) => told.push(seq))).toEqual({ from: 1, to: 4 });
  expect(told).toEqual([1, 2, 3, 4]);
  expect(await verify(lines.slice(1))).toEqual({ from: 2, to: 4 });
  expect(await verify([])).toEqual({ from: 0, to: 0 });
});

test("an event that was changed, taken out, or moved is named", async () => {
  const changed = lines.map((line, i) => (i === 1 ? line.replace("key.revoked", "key.rotated") : line));
  expect(await verify(changed)).toEqual({ from: 1, to: 1, broken: 2 });
  expect(await verify([lines[0]!, lines[2]!])).toEqual({ from: 1, to: 1, broken: 3 });
  expect(await verify([lines[1]!, lines[0]!])).toEqual({ from: 2, to: 2, broken: 1 });
});

test("lines are found wherever the network cuts them", async () => {
  const bytes = new TextEncoder().encode("one\ntwö\nthree");
  const body = new ReadableStream<Uint8Array>({
    start(to) {
      for (let i = 0; i < bytes.length; i += 3) to.enqueue(bytes.slice(i, i + 3));
      to.close();
    },
  });
  const found: string[] = [];
  for await (const line of linesOf(body)) found.push(line);
  expect(found).toEqual(["one", "twö", "three"]);
});
