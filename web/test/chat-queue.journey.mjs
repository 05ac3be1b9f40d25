// Two prompts wait when somebody stops: both texts are offered again. Esc for something else stops nothing. Failures name the fix, and reasoning
// is folded.
import { perform } from "./stage.mjs";
import { begin, chat, check, composer, equal, history, instanceOf, open, say, send, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  await visitor.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await say(visitor, "n=2000 delay=60");
  await visitor.page.getByText("word5").first().waitFor();
  await say(visitor, "n=3 the first of two");
  await say(visitor, "n=4 the second of two");
  const queue = visitor.page.getByRole("list", { name: "Waiting prompts" });
  await queue.getByText("n=4 the second of two").waitFor();
  await queue.getByText("waits", { exact: true }).waitFor(); // both are admitted
  await visitor.look("queue", { at: chat(instanceOf(visitor)), see: ["Next", "starts when this reply ends"] });

  // Esc closes what is open, or drops a word that is being composed: the reply and what waits go on.
  const stops = [];
  visitor.page.on("request", (request) => request.url().includes("/abort") && stops.push(request.url()));
  const filter = visitor.page.getByRole("searchbox", { name: "Find a conversation" });
  await visitor.page.getByRole("button", { name: "Find a conversation" }).click();
  await filter.press("Escape");
  await filter.waitFor({ state: "detached" });
  await visitor.page.getByRole("button", { name: "More", exact: true }).click();
  const menu = visitor.page.getByRole("menu", { name: "More", exact: true });
  await menu.waitFor();
  await visitor.page.keyboard.press("Escape");
  await menu.waitFor({ state: "hidden" });
  for (const composed of [{ isComposing: true }, { keyCode: 229 }]) {
    await composer(visitor).evaluate((area, composed) => area.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true, ...composed })), composed);
  }

  // A reload takes nothing away: what waits is known by more than its beginning.
  await visitor.page.reload();
  await queue.getByText("n=4 the second of two").waitFor();
  await visitor.page.getByRole("button", { name: "Take back and edit" }).nth(1).waitFor();
  check(visitor, "queue", stops.length === 0, `Esc for something else has stopped ${stops.join()}`);
  await visitor.page.waitForTimeout(400); // the button waits before it becomes Stop
  await send(visitor).click();
  await visitor.page.getByText(/Stopped after/).waitFor();
  await visitor.page.getByText("Not sent").nth(1).waitFor();
  await visitor.look("stopped", { at: chat(instanceOf(visitor)), see: ["n=3 the first of two", "n=4 the second of two", "Not sent"] });
  const { settlements } = await history(visitor);
  check(visitor, "stopped", settlements.length === 3 && settlements.every((each) => each.outcome === "aborted"), JSON.stringify(settlements));

  const first = visitor.page.locator(".row-of").filter({ hasText: "the first of two" });
  await first.getByRole("button", { name: "Send" }).click();
  await visitor.page.locator(".it").nth(1).getByText("word2").waitFor();
  const second = visitor.page.locator(".row-of").filter({ hasText: "the second of two" });
  await second.getByRole("button", { name: "Edit" }).click();
  check(visitor, "edited", (await composer(visitor).inputValue()) === "n=4 the second of two", "the text is not back in the composer");
  await composer(visitor).fill("");

  // A reply that fails says why, and what to do.
  await open(visitor);
  await say(visitor, "fail on purpose");
  await visitor.page.getByRole("region", { name: "This failed" }).or(visitor.page.getByRole("alert", { name: "This failed" })).first().waitFor();
  await visitor.look("failed", { at: chat(instanceOf(visitor)), title: "! fail on purpose · Chat · Personal", see: ["failed on purpose", "Ask again", "Open model settings"] });
  await visitor.page.getByRole("button", { name: "Ask again" }).first().click();
  await visitor.page.locator(".failure").nth(1).waitFor();
  await equal(visitor, "asked again");

  // Reasoning is folded, opens, and is not copied.
  await open(visitor);
  await say(visitor, "think n=5");
  await settled(visitor, 1);
  const fold = visitor.page.getByRole("button", { name: /^Thought/ });
  check(visitor, "thought", (await fold.getAttribute("aria-expanded")) === "false", "reasoning is open by itself");
  await fold.click();
  const thought = (await visitor.page.locator(".thought").innerText()).trim();
  check(visitor, "thought", thought !== "", "there is no reasoning");
  await visitor.picture("thought");
  await visitor.page.locator(".foot").getByRole("button", { name: "Copy" }).click();
  const copied = await visitor.once(() => visitor.page.evaluate(() => navigator.clipboard.readText()), (text) => text.startsWith("word0"));
  check(visitor, "copied", copied === "word0 word1 word2 word3 word4", `copied ${JSON.stringify(copied)}`);
});
