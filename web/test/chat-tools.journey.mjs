// A model asks for real tools: each stands as the wire says, while it runs and after, and so does the timeline of the turn. (interface.md 10.18)
// with SVC_MODEL_ALLOW_PRIVATE=127.0.0.0/8
// only in the soak
import { ask, perform } from "./stage.mjs";
import { begin, chat, check, history, instanceOf, open, say, settled } from "./chat.mjs";
import { base, call, project } from "./runs.mjs";

const seconds = (count) => count * 1_000_000_000; // as Go counts them

// model has the workspace ask a model that replies as it is told.
async function model(visitor, replies) {
  const { address, key } = await ask("model server", { api: "openai-chat", replies });
  await call(visitor, "PUT", `${base}/models/openai`, { url: address, key });
  await call(visitor, "PUT", `${base}/models`, { default: "openai/test" });
}

// lasting is a duration as the interface says it.
const lasting = (ms) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// cards are the calls as they are seen: name, state, duration, and what is open.
function cards(visitor) {
  return visitor.page.locator(".tools button.tool").evaluateAll((all) =>
    all.map((each) => [each.querySelector(".name").textContent, each.querySelector(".sr")?.textContent.slice(2), each.querySelector("time").textContent, each.getAttribute("aria-expanded")]),
  );
}

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  await project(visitor, "ops", { "notes.md": "What happened in the night." });
  await model(visitor, [
    {
      reasoning: ["I should look ", "before I answer."],
      text: ["Let me ", "look."],
      calls: [
        { id: "call_1", name: "list_files", input: { project: "ops" } },
        { id: "call_2", name: "read_file", input: { project: "ops", path: "missing.md" } },
        { id: "call_3", name: "run_workflow", input: { workflow: "digest", input: { project: "ops" } } },
      ],
    },
    { text: ["A digest."], delay: seconds(8) },
    { text: ["There is **one** file."] },
  ]);

  // All three run as long as the slowest of them: calls of one message end together.
  await open(visitor);
  await say(visitor, "What is in ops?");
  await page.locator(".tools button.tool .spin").nth(2).waitFor();
  const running = await cards(visitor);
  check(visitor, "running", same(running.map(([name, state]) => [name, state]), [["List files", "running"], ["Read file", "running"], ["Run workflow", "running"]]), JSON.stringify(running));
  await page.waitForFunction(() => [...document.querySelectorAll(".tools time")].every((each) => Number.parseInt(each.textContent, 10) >= 1));
  await settled(visitor, 1);

  // Then each is what the service has of it.
  const instance = instanceOf(visitor);
  const calls = (await history(visitor)).messages.flatMap((message) => message.parts.filter((part) => part.type === "dynamic-tool"));
  check(visitor, "wire", same(calls.map((each) => each.state), ["output-available", "output-error", "output-available"]), JSON.stringify(calls));
  const done = await cards(visitor);
  const wanted = calls.map((each, i) => [running[i][0], each.state === "output-error" ? "failed" : "done", lasting(each.durationMs), String(each.state === "output-error")]);
  check(visitor, "done", same(done, wanted), `shows ${JSON.stringify(done)}, and the wire says ${JSON.stringify(wanted)}`);
  for (const i of [0, 2]) await page.locator(".tools button.tool").nth(i).click();
  const shown = await page.locator(".tools .io").evaluateAll((all) => all.map((each) => [...each.querySelectorAll("pre")].map((pre) => pre.textContent)));
  calls.forEach((each, i) => {
    check(visitor, "input", same(JSON.parse(shown[i][0]), each.input), `of ${each.toolName} is ${shown[i][0]}`);
    if (each.state !== "output-available") return;
    const output = typeof each.output === "string" ? shown[i][1].replace(/\n$/, "") : JSON.parse(shown[i][1]);
    check(visitor, "output", same(output, each.output), `of ${each.toolName} is ${shown[i][1]}`);
  });
  check(visitor, "error", (await page.locator(".tool-error").innerText()) === calls[1].errorText, `is ${await page.locator(".tool-error").innerText()}`);
  await page.getByRole("link", { name: "Open the run" }).waitFor();
  await visitor.look("tools", { at: chat(instance), see: ["Let me look.", "There is one file.", "Thought"] });

  // The timeline of the turn says the same, and its keys work in the sheet.
  await page.getByRole("button", { name: "Trace" }).click();
  const sheet = page.getByRole("dialog", { name: "Trace" });
  await sheet.getByRole("row", { name: /^turn 2/ }).waitFor();
  const bars = await sheet.locator("[data-span^=call_]").evaluateAll((rows) => rows.map((each) => Number(each.querySelector("[data-took]").dataset.took)));
  check(visitor, "trace", same(bars.map(Math.round), calls.map((each) => each.durationMs)), `has bars of ${bars}, and the wire says ${calls.map((each) => each.durationMs)}`);
  check(visitor, "trace", !(await sheet.innerText()).includes("not recorded"), "does not know the end of a turn that was seen to end");
  await sheet.getByRole("row", { name: /^prompt/ }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("n");
  await sheet.getByRole("complementary", { name: "Selected span" }).getByText(calls[1].errorText.slice(0, 20)).first().waitFor();
  await visitor.look("trace", { at: /\?trace=.+&span=call_2/, see: ["Read file", "1 of 1", "openai/test"] });
  await page.keyboard.press("Escape");
  await sheet.getByRole("complementary", { name: "Selected span" }).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Trace" }).and(page.locator(":focus")).waitFor();

  // It has an address. After a reload nobody knows when the turn ended, and that is what is said.
  await page.goBack();
  await page.goForward();
  await page.getByRole("button", { name: "Trace" }).click();
  await sheet.getByRole("row", { name: /^turn 2/ }).waitFor();
  await page.reload();
  await sheet.getByText("end not recorded").first().waitFor();
  await page.goBack();
  await sheet.waitFor({ state: "detached" });

  // More than three calls are one row, that says how many failed.
  const four = ["ops", "ops", "ops", "nowhere"].map((slug, i) => ({ id: `call_${i}`, name: "list_files", input: { project: slug } }));
  await model(visitor, [{ calls: four }, { text: ["Done."] }]);
  await open(visitor);
  await say(visitor, "Look four times.");
  await settled(visitor, 1);
  const group = page.getByRole("button", { name: /^Ran 4 tools/ });
  check(visitor, "group", /1 failed/.test(await group.innerText()) && (await group.getAttribute("aria-expanded")) === "false", `says ${await group.innerText()}`);
  await group.click();
  await page.locator(".tools button.tool").nth(4).waitFor();
  await visitor.picture("group");
});
