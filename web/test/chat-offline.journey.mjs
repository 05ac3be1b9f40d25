// The network is gone for twenty seconds in the middle of a reply: each state is said in its order, nothing is lost, and what was sent meanwhile is
// red until it is tried again, which makes one message of it.
// only in the soak
import { given, perform } from "./stage.mjs";
import { begin, check, composer, equal, forget, history, say, settled } from "./chat.mjs";

const away = 20_000;
const meanwhile = "n=2 sent without a network";

await perform(async (enter) => {
  const visitor = await enter();
  const { page, context } = visitor;
  await begin(visitor);
  await say(visitor, "n=200 delay=20");
  await page.getByText("word20").first().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.evaluate(listen);

  await context.setOffline(true);
  await page.evaluate(() => window.stop()); // the emulation leaves open what is open
  const since = Date.now();
  await page.getByText("Offline", { exact: true }).waitFor();
  await page.getByText("You are offline. The reply goes on without you").waitFor();
  await composer(visitor).fill("typed without a network");
  await shoot(visitor, "offline");
  check(visitor, "offline", (await composer(visitor).inputValue()) === "typed without a network", "the draft is gone");
  await say(visitor, meanwhile);
  const red = page.locator(".standing.bad");
  await red.waitFor({ timeout: 20_000 });
  await page.waitForTimeout(Math.max(0, away - (Date.now() - since)));
  check(visitor, "offline", await red.isVisible(), "what was sent is no longer red");
  await shoot(visitor, "offline-send");

  await context.setOffline(false);
  await settled(visitor, 1);
  await page.getByText("Live", { exact: true }).waitFor();
  const said = await page.evaluate(() => window.states);
  check(visitor, "states", /^Live,Offline(,Reconnecting|,Catching up)*,Live$/.test(said.join()), `were ${said.join()}`);

  // Nothing is sent by itself; tried again it is one message.
  const sent = async () => (await history(visitor)).messages.filter((message) => message.role === "user" && message.parts[0].text === meanwhile).length;
  check(visitor, "back", (await sent()) === 0, "what was red was sent by itself");
  await page.locator(".standing").getByRole("button", { name: /^(Retry|Send)$/ }).click();
  await settled(visitor, 2);
  check(visitor, "tried again", (await sent()) === 1, `made ${await sent()} messages`);
  await equal(visitor, "tried again");
  forget(visitor);
  await visitor.picture("back");
});

// shoot takes a picture by the session that emulates: when another one ends, the page takes itself for online.
async function shoot({ page }, name) {
  if (given.pictures) await page.screenshot({ path: `${given.shots}/chat-${name}.png` });
}

// listen keeps the words in which the page says how its stream does, as they change.
function listen() {
  const words = ["Live", "Offline", "Reconnecting", "Catching up", "Not connected"];
  const look = () => {
    const word = [...document.querySelectorAll("header.top .tag")].map((tag) => tag.textContent.trim()).find((text) => words.includes(text));
    if (word && word !== window.states.at(-1)) window.states.push(word);
  };
  window.states = [];
  look();
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}
