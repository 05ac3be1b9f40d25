// A session is revoked from elsewhere in the middle of a reply: the page says so, keeps what was typed, and the reply is whole after. (interface.md 10.11)
// only in the soak
import { ada, perform, signIn } from "./stage.mjs";
import { begin, check, composer, equal, forget, say, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const other = await enter();
  await begin(visitor);
  await other.open("/login");
  await signIn(other, ada);
  await other.open("/account/sessions");
  await say(visitor, "n=1200 delay=50");
  await visitor.page.getByText("word20").first().waitFor();
  await composer(visitor).fill("a draft that stays");
  await other.press("End all others");
  const revoked = Date.now();
  const dialog = visitor.page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor({ timeout: 45_000 });
  const took = (Date.now() - revoked) / 1_000;
  console.log(`from the end of a session to the dialog: ${took.toFixed(1)} s (35 at most)`);
  check(visitor, "revoked", took <= 35, `was told after ${took} s`);
  check(visitor, "revoked", (await visitor.page.locator(".it .prose").innerText()).includes("word20"), "the transcript is gone");
  forget(visitor);
  await visitor.picture("revoked");

  const tab = await visitor.tab();
  await tab.open("/login");
  await signIn(tab, ada);
  await visitor.page.bringToFront();
  await dialog.waitFor({ state: "detached", timeout: 20_000 });
  check(visitor, "signed in", (await composer(visitor).inputValue()) === "a draft that stays", "the draft is gone");
  await settled(visitor, 1, 120_000);
  await equal(visitor, "signed in");
  forget(visitor);
  forget(tab);
});
