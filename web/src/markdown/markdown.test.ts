import { expect, test } from "vitest";
import { Blocks } from "./blocks";
import { leadOf, sourceOf } from "./link";
import { marksOf } from "./marks";
import { mend } from "./mend";
import { decoded, plain } from "./plain";

const text = "# One\n\nSome *words* here.\n\n- a\n- b\n\n1. x\n\n2. y\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.\n";

test("a text that grows is the text that is parsed at once", () => {
  const growing = new Blocks();
  for (let end = 1; end <= text.length; end++) growing.of(text.slice(0, end), false);
  const whole = new Blocks().of(text, true);
  expect(growing.of(text, true).map((block) => [block.token.type, block.raw])).toEqual(whole.map((block) => [block.token.type, block.raw]));
  expect(whole.map((block) => block.raw).join("")).toBe(text);
});

test("blocks that are closed stay the same objects", () => {
  const blocks = new Blocks();
  const before = blocks.of("One.\n\nTwo.\n\nThree.\n\nFo", false);
  const after = blocks.of("One.\n\nTwo.\n\nThree.\n\nFour", false);
  expect(after.slice(0, 3)).toEqual(before.slice(0, 3));
  expect(after[0]).toBe(before[0]);
});

test("another text is parsed anew", () => {
  const blocks = new Blocks();
  blocks.of("One.\n\nTwo.\n\nThree.", false);
  expect(blocks.of("Else.", false).map((block) => block.raw)).toEqual(["Else."]);
});

test("what is half written is closed", () => {
  expect(mend("some **bold te")).toBe("some **bold te**");
  expect(mend("some `code")).toBe("some `code`");
  expect(mend("see [the page](https://exa")).toBe("see the page");
  expect(mend("see [the pa")).toBe("see the pa");
  expect(mend("```go\nfunc **")).toBe("```go\nfunc **");
  expect(mend("done **here** and")).toBe("done **here** and");
  expect(mend("* an item")).toBe("* an item");
});

test("links lead to the web, to a mail or into the application, and nowhere else", () => {
  const origin = "https://agents.example";
  expect(leadOf("https://evil.example/x", origin)).toEqual({ href: "https://evil.example/x", host: "evil.example", inside: false });
  expect(leadOf("/w/ada/personal/runs", origin)?.inside).toBe(true);
  expect(leadOf("https://agents.example/w/ada/personal", origin)?.inside).toBe(true);
  for (const href of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc", "//evil.example", "https://bank.example@evil.example/", "\u0001javascript:x"]) expect(leadOf(href, origin)).toBeUndefined();
  expect([sourceOf("https://a.example/x.png"), sourceOf("data:image/png;base64,x"), sourceOf("x.png")]).toEqual(["a.example", "embedded", "this page"]);
});

test("signs that turn a text around are shown", () => {
  expect(plain("a\u202Eb")).toBe("a[U+202E]b");
  expect(decoded("&lt;b&gt; &#65; &#x42; &nope; &#0;")).toBe("<b> A B &nope; \ufffd");
});

test("a program is coloured without losing a character", () => {
  const program = 'func main() { // say\n  x := "hi" + 12\n}';
  const marks = marksOf(program) ?? [];
  expect(marks.map((mark) => mark.text).join("")).toBe(program);
  expect(marks.filter((mark) => mark.kind).map((mark) => mark.kind)).toEqual(["w", "c", "s", "v"]);
  expect(marksOf("x".repeat(30_000))).toBeUndefined();
});
