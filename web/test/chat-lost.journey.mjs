// The network goes, an answer is cut off, the session ends: each is said, nothing is lost and nothing is sent twice.
// only in the soak
import { ada, given, perform, signIn } from "./stage.mjs";
import { begin, check, composer, equal, forget, history, say, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);

  // Offline in the middle of a reply: it is said, and the reply is whole when the network is back.
  await say(visitor, "n=200 delay=20");
  await visitor.page.getByText("word20").first().waitFor();
  await visitor.context.setOffline(true);
  await visitor.page.getByText("Offline", { exact: true }).waitFor();
  await composer(visitor).fill("typed without a network");
  await visitor.page.waitForTimeout(given.soak ? 20_000 : 3_000);
  check(visitor, "offline", (await composer(visitor).inputValue()) === "typed without a network", "the draft is gone");
  await composer(visitor).fill("n=2 sent without a network");
  await composer(visitor).press("Enter");
  await visitor.page.locator(".standing.bad").waitFor({ timeout: 20_000 });
  await visitor.context.setOffline(false);
  await settled(visitor, 1);
  await visitor.page.locator(".standing").getByRole("button", { name: /^(Retry|Send)$/ }).click();
  await settled(visitor, 2);
  await equal(visitor, "offline");
  forget(visitor);

  // The answer to a sending is cut off: nobody knows, and a look finds out.
  await visitor.page.evaluate(() => {
    const real = window.fetch;
    window.fetch = async (input, init) => {
      const response = await real(input, init);
      const method = init?.method ?? (input instanceof Request ? input.method : "GET");
      if (method !== "POST" || !response.url.includes("/agents/central/")) return response;
      window.cut = (window.cut ?? 0) + 1;
      throw new TypeError("the connection was cut");
    };
    window.mend = () => (window.fetch = real);
  });
  await say(visitor, "n=6 whose answer was lost");
  await settled(visitor, 3);
  check(visitor, "cut off", (await visitor.page.evaluate(() => window.cut)) > 0, "no answer was cut off");
  await visitor.page.evaluate(() => window.mend());
  const { messages } = await history(visitor);
  check(visitor, "cut off", messages.filter((message) => message.role === "user" && message.parts[0].text.includes("answer was lost")).length === 1, "was admitted more than once");
  await equal(visitor, "cut off");
  forget(visitor);

  // The session ends elsewhere in the middle of a reply.
  await say(visitor, "n=400 delay=20");
  await visitor.page.locator(".it").nth(3).getByText("word30").waitFor();
  await composer(visitor).fill("a draft that stays");
  await visitor.page.evaluate(() => fetch("/api/auth/logout", { method: "POST" }).then((answer) => answer.status));
  const dialog = visitor.page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor({ timeout: 45_000 });
  await visitor.picture("session-ended");
  const other = await visitor.tab();
  await other.open("/login");
  await signIn(other, ada);
  await visitor.page.bringToFront();
  await dialog.waitFor({ state: "detached", timeout: 20_000 });
  await settled(visitor, 4);
  await equal(visitor, "signed in again");
  check(visitor, "signed in again", (await composer(visitor).inputValue()) === "a draft that stays", "the draft is gone");
  forget(visitor);
  forget(other);
});
