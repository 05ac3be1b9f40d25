import assert from "node:assert/strict";
import { test } from "node:test";
import { Frames, type Frame } from "../dist/sse.js";
import { random } from "./support/proxy.js";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** parse reads a text that comes in pieces. */
function parse(bytes: Uint8Array, ...cuts: number[]): Frame[] {
  const frames = new Frames();
  const all: Frame[] = [];
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    all.push(...frames.push(bytes.subarray(from, to)));
    from = to;
  }
  return all;
}

const stream = 'event: data\ndata:[{"text":"grüße 🙂"}]\n\n: heartbeat\n\nevent: control\ndata: {"a":1}\n\ndata\nid: 7\nretry: 5\n\nevent: x\r\ndata:1\r\ndata:2\r\n\r\ndata:3\r\r';

const want: Frame[] = [
  { event: "data", data: '[{"text":"grüße 🙂"}]' },
  { event: "control", data: '{"a":1}' },
  { event: "message", data: "" },
  { event: "x", data: "1\n2" },
  { event: "message", data: "3" },
];

test("frames are the same wherever the bytes were cut", () => {
  const bytes = encode(stream);
  assert.deepEqual(parse(bytes), want);
  for (let a = 0; a <= bytes.length; a++) {
    assert.deepEqual(parse(bytes, a), want, `cut at ${a}`);
    for (let b = a; b <= bytes.length; b += 7) assert.deepEqual(parse(bytes, a, b), want, `cut at ${a} and ${b}`);
  }
});

test("a frame that is not ended is no frame", () => {
  assert.deepEqual(parse(encode("event: data\ndata:[1]\n")), []);
  assert.deepEqual(parse(encode("event: data\ndata:[1]")), []);
  assert.deepEqual(parse(encode("")), []);
});

test("fuzz: any bytes, cut anywhere, give the same frames as when they come at once", () => {
  const next = random(7);
  const alphabet = [..."\r\n\n\n:: ", "data:", "event:", "é🙂", "\u0000", "x".repeat(50)].map(encode);
  for (let round = 0; round < 3_000; round++) {
    const pieces = Array.from({ length: Math.floor(next() * 30) }, () =>
      next() < 0.05 ? Uint8Array.of(Math.floor(next() * 256)) : alphabet[Math.floor(next() * alphabet.length)]!,
    );
    const bytes = Uint8Array.from(pieces.flatMap((piece) => [...piece]));
    const cuts = Array.from({ length: Math.floor(next() * 6) }, () => Math.floor(next() * bytes.length)).sort((a, b) => a - b);
    const whole = parse(bytes);
    assert.deepEqual(parse(bytes, ...cuts), whole);
    for (const frame of whole) assert.ok(!frame.event.includes("\n") && !frame.data.includes("\r"));
  }
});

test("a megabyte that comes byte by byte takes no more than its length", () => {
  const frames = new Frames();
  const text = encode(`event: data\ndata:${"y".repeat(1 << 20)}\n\n`);
  let got: Frame[] = [];
  for (let i = 0; i < text.length; i++) got = got.concat([...frames.push(text.subarray(i, i + 1))]);
  assert.equal(got.length, 1);
  assert.equal(got[0]!.data.length, 1 << 20);
});
