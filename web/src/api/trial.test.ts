import { expect, test } from "vitest";
import { follow, toldOf, type Trial } from "./trial";

const asked: Trial = { state: "asking", text: "", admittedMs: 38 };

test("words are added as they come, and the first is timed", () => {
  const one = follow(asked, { type: "message-delta", kind: "text", delta: "Two " }, 900);
  const two = follow(one, { type: "message-delta", kind: "text", delta: "failed." }, 1_200);
  expect(two).toMatchObject({ state: "streaming", text: "Two failed.", firstMs: 900 });
});

test("what is thought, and what is no text, is not the answer", () => {
  expect(follow(asked, { type: "message-delta", kind: "reasoning", delta: "Hm" }, 1)).toBe(asked);
  expect(follow(asked, { type: "message-completed" }, 1)).toBe(asked);
});

test("a trial says how long each part took", () => {
  expect(toldOf(asked)).toBe("202 in 38 ms");
  expect(toldOf({ ...asked, firstMs: 900, wholeMs: 2_620 })).toBe("202 in 38 ms · first word after 900 ms · 2.6 s in all");
});
