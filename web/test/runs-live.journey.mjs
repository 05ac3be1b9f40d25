// A run is watched while it works and while the service is killed under it: open bars grow, those that are over are as long as the events say,
// what was done is kept, and the time without a service is a band. Then it is cancelled; another goes to its end.
import { ada, ask, perform, signUp } from "./stage.mjs";
import { check, digest, events, project, row, status } from "./runs.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  // The second file takes minutes: however slow the machine is, it is being summed up while it is looked at.
  await project(visitor, "notes", { "a.md": "n=30 delay=20", "b.md": "n=6000 delay=50" });
  const runId = await digest(visitor, "notes");
  await status(visitor, "Running");
  await row(visitor, "read b.md").waitFor();
  await page.getByRole("button", { name: "Following" }).waitFor();
  await visitor.titled("live", /^● run_/);
  const grown = (bar) => bar.evaluate((element) => element.getBoundingClientRect().width);
  const bar = page.locator("[data-grows]").last();
  await bar.waitFor();
  const before = await grown(bar);
  check(visitor, "live", (await visitor.once(() => grown(bar), (now) => now !== before)) !== before, "has an open bar that does not grow");

  await ask("kill");
  await ask("start");
  await page.locator(".gap").waitFor({ timeout: 60_000 });
  await page.getByText("once, after").waitFor();
  await row(visitor, "read a.md").locator(".kept-mark").waitFor();
  await page.locator("[data-grows]").last().waitFor();
  // Both are moved in one frame; between a change of scale and that frame they may be apart.
  const apart = await page.evaluate(async () => {
    let least = Infinity;
    for (let i = 0; i < 20; i++) {
      await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
      const open = [...document.querySelectorAll("[data-grows]")].at(-1);
      least = Math.min(least, Math.abs(open.getBoundingClientRect().right - document.querySelector(".now").getBoundingClientRect().left));
    }
    return least;
  });
  check(visitor, "restarted", apart < 6, `has an open bar that ends ${apart} px from now`);
  // What the browser tells of the time without a service was to be.
  visitor.complaints = [];
  visitor.refusals = [];
  await visitor.look("restarted", { at: page.url(), see: ["Server restarted", "kept", "Resumed", "interrupted"] });

  await page.getByRole("tab", { name: "Conversation" }).click();
  await page.getByText("Sum up the file b.md").first().waitFor();
  await visitor.look("conversation", { at: page.url(), see: ["word0 word1", "continued after a restart"] });
  await page.goBack();

  // A run that is cancelled has stopped, and did not fail.
  await page.getByRole("button", { name: "Cancel run" }).click();
  await visitor.picture("cancel");
  await page.getByRole("dialog").getByRole("button", { name: "Cancel run" }).click();
  await status(visitor, "Stopped");
  await page.locator("[data-grows]").first().waitFor({ state: "detached" });

  const took = await page.locator(".bar-t[data-took]").evaluateAll((bars) => bars.map((each) => Number(each.dataset.took)));
  const told = (await events(visitor, runId)).flatMap((event) => (event.type === "turn" || event.type === "operation" ? [event.durationMs] : event.attributes?.step?.state === "finished" ? [event.attributes.step.durationMs] : []));
  check(visitor, "stopped", told.length >= 5, `has only ${told.length} spans that are over`);
  for (const each of told) check(visitor, "stopped", took.includes(each), `has no bar of ${each} ms, but ${took.join()}`);
  const strayed = await page.locator(".lbl").evaluateAll((labels) => labels.filter((label) => label.style.transform).length);
  check(visitor, "stopped", strayed === 0, `has ${strayed} labels that are not at their bars`);

  // To look closer at a bar is to double-click it; 0 shows all of the run again.
  await row(visitor, "read a.md").click();
  await page.getByRole("complementary", { name: "Selected span" }).waitFor();
  await visitor.drawn(); // the inspector takes room from the lane
  const whole = await page.locator(".ruler .x").innerText();
  await row(visitor, "read a.md").dblclick();
  await page.waitForFunction((before) => document.querySelector(".ruler .x").innerText !== before, whole);
  await page.keyboard.press("0");
  await page.waitForFunction((before) => document.querySelector(".ruler .x").innerText === before, whole);

  await project(visitor, "short", { "a.md": "n=3" });
  await digest(visitor, "short");
  await status(visitor, "Completed");
  await page.getByRole("tab", { name: "Input and result" }).click();
  await page.getByText('"into": "digest.md"').waitFor();
});
