// A proxy cuts the answer to a sending: nobody knows whether it arrived, that is what is said, also after a reload, and a look finds it.
// (interface.md 10.13)
// only in the soak
import { ask, perform } from "./stage.mjs";
import { begin, chat, check, composer, equal, forget, history, instanceOf, say, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  const instance = instanceOf(visitor);
  // What is sent reaches the service, its answer reaches nobody, and what is read is from before.
  let cut = 0;
  const mine = (url) => url.pathname.includes(`/agents/central/${instance}`);
  await page.route(mine, async (route) => {
    const request = route.request();
    if (request.method() !== "POST") return route.fulfill({ status: 404, json: { error: { type: "stream_not_found", message: "There is no such conversation.", details: "" } } });
    const { status } = await ask("send", { method: "POST", url: request.url(), body: request.postData(), header: await request.allHeaders() });
    if (status === 202) cut++;
    return route.abort("connectionreset");
  });
  await say(visitor, "n=6 whose answer was lost");
  const note = page.locator(".standing.warn");
  await note.getByText("We could not tell whether this arrived.").waitFor({ timeout: 30_000 });
  await visitor.page.getByText("n=6 whose answer was lost").first().waitFor();
  check(visitor, "cut off", cut > 0, "no answer was cut off");
  check(visitor, "cut off", (await composer(visitor).inputValue()) === "", "the text stands in the composer too");
  await page.reload();
  await note.getByText("We could not tell whether this arrived.").waitFor();
  await visitor.page.getByText("n=6 whose answer was lost").first().waitFor();
  forget(visitor);
  await visitor.look("unknown", { at: chat(instance), see: ["Check", "Send", "Discard"] });

  await page.unroute(mine);
  await note.getByRole("button", { name: "Check" }).click();
  await note.waitFor({ state: "detached" });
  await settled(visitor, 1);
  const { messages } = await history(visitor);
  check(visitor, "found", messages.filter((message) => message.role === "user").length === 1, "was admitted more than once");
  await equal(visitor, "found");
  forget(visitor);
});
