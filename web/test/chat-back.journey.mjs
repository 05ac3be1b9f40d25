// Somebody goes back and forward over three conversations and a run: each is where they left it. (interface.md 10.10)
// only in the soak
import { goTo, perform } from "./stage.mjs";
import { begin, chat, check, instanceOf, open, rests, say, scroller, settled } from "./chat.mjs";
import { digest, project, row, status } from "./runs.mjs";

const top = (visitor) => scroller(visitor).evaluate((view) => Math.round(view.scrollTop));
const atEnd = (visitor) => scroller(visitor).evaluate((view) => view.scrollHeight - view.clientHeight - view.scrollTop < 2);

// shows waits for a conversation, and for the place in it.
async function shows(visitor, name, title, wanted) {
  await visitor.page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
  await settled(visitor, 1);
  const there = async () => (wanted === "end" ? atEnd(visitor) : Math.abs((await top(visitor)) - wanted) <= 1);
  for (const end = Date.now() + 5_000; Date.now() < end && !(await there()); ) await visitor.page.waitForTimeout(50);
  check(visitor, name, await there(), `is at ${await top(visitor)}, and was left at ${wanted}`);
}

// read scrolls up as a person does.
async function read(visitor, by) {
  await scroller(visitor).hover();
  await visitor.page.mouse.wheel(0, -by);
  await visitor.page.getByRole("button", { name: "Latest" }).waitFor();
  return Math.round(await rests(visitor));
}

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  await project(visitor, "notes", { "a.md": "n=5" });
  const runId = await digest(visitor, "notes");
  await status(visitor, "Completed");
  const instances = [];
  for (const size of [1_000, 900, 800]) {
    await open(visitor);
    await say(visitor, `n=${size}`);
    await settled(visitor, 1);
    instances.push(instanceOf(visitor));
  }
  const entry = (size) => page.getByRole("navigation", { name: "Conversations" }).getByRole("link", { name: `n=${size}` });

  // One that is opened anew begins at its end, wherever the one before was read.
  await visitor.open(chat(instances[0]));
  await shows(visitor, "the first", "n=1000", "end");
  const first = await read(visitor, 700);
  await entry(900).click();
  await shows(visitor, "the second", "n=900", "end");
  const second = await read(visitor, 300);
  await entry(800).click();
  await shows(visitor, "the third", "n=800", "end");
  await goTo(visitor, "Runs");
  await page.getByRole("link", { name: /digest/ }).first().click();
  await row(visitor, "list files").click();
  await page.getByRole("tab", { name: "Conversation" }).click();
  await page.locator(".it .prose").first().waitFor();
  await visitor.picture("run-conversation");

  // Back: the view of the run, and its span; then the conversations, from the last to the first.
  await page.goBack();
  await page.getByRole("tab", { name: "Timeline", selected: true }).waitFor();
  await page.getByRole("complementary", { name: "Selected span" }).getByText("list files").waitFor();
  await page.goBack();
  await page.goBack();
  await shows(visitor, "back to the third", "n=800", "end");
  await page.goBack();
  await shows(visitor, "back to the second", "n=900", second);
  await page.goBack();
  await shows(visitor, "back to the first", "n=1000", first);

  // Forward again, and a reload on the way.
  await page.goForward();
  await shows(visitor, "on to the second", "n=900", second);
  await page.reload();
  await shows(visitor, "the second, after a reload", "n=900", second);
  await page.goForward();
  await shows(visitor, "on to the third", "n=800", "end");
  await page.goForward();
  await page.goForward();
  await page.getByRole("complementary", { name: "Selected span" }).getByText("list files").waitFor();
  await page.goForward();
  await page.getByRole("tab", { name: "Conversation", selected: true }).waitFor();
  check(visitor, "forward", page.url().includes(runId), `is at ${page.url()}`);
});
