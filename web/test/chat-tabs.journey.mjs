// One conversation in two tabs: both see the same, what is typed in one is not in the other, and either can stop it.
// only in the soak
import { perform } from "./stage.mjs";
import { begin, check, composer, equal, instanceOf, open, say, send, settled } from "./chat.mjs";

await perform(async (enter) => {
  const a = await enter();
  await begin(a);
  await say(a, "n=5");
  await settled(a, 1);
  const instance = instanceOf(a);
  const b = await a.tab();
  await open(b, instance);
  await settled(b, 1);
  await composer(a).fill("typed in one");
  await composer(b).fill("typed in the other");
  await b.page.reload();
  await settled(b, 1);
  check(b, "drafts", (await composer(b).inputValue()) === "typed in the other", "the draft is gone");
  check(a, "drafts", (await composer(a).inputValue()) === "typed in one", "the draft was written over");
  await composer(a).fill("");
  await composer(b).fill("");

  await a.page.bringToFront();
  await say(a, "n=3000 delay=20");
  await b.page.bringToFront();
  await b.page.locator(".it").nth(1).getByText("word10").waitFor();
  await b.page.waitForTimeout(400);
  await send(b).click();
  await b.page.locator(".foot.stopped").waitFor();
  await a.page.bringToFront();
  await a.page.locator(".foot.stopped").waitFor();
  await equal(a, "two tabs");
  await equal(b, "two tabs, the other");
});
