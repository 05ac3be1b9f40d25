// The first prompt of a conversation is refused: its text can be edited, let go and, also after a reload, sent again, which makes one message of it. What
// cannot be stopped, or read, says why.
// one form of the service is enough
import { perform } from "./stage.mjs";
import { begin, chat, check, composer, equal, forget, history, instanceOf, say, settled } from "./chat.mjs";

const text = "n=3 refused at first";
const lamp = (status) => ({ status, json: { error: { type: "lamp", message: "The lamp fell over.", details: "" } } });

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  const instance = instanceOf(visitor);
  const mine = (url) => url.pathname.endsWith(`/agents/central/${instance}`);
  const keys = [];
  page.on("request", (request) => mine(new URL(request.url())) && request.method() === "POST" && keys.push(request.headers()["idempotency-key"]));
  await page.route(mine, (route) => (route.request().method() === "POST" ? route.fulfill(lamp(507)) : route.continue()));
  const note = page.locator(".standing.bad");
  const begins = async (name) => check(visitor, name, (await composer(visitor).count()) === 1, "there is nowhere to write");

  await say(visitor, text);
  await note.getByText("The lamp fell over.").waitFor();
  await note.getByRole("button", { name: "Edit" }).click();
  await note.waitFor({ state: "detached" });
  await begins("edited");
  check(visitor, "edited", (await composer(visitor).inputValue()) === text, "the text is not back in the composer");
  await composer(visitor).press("Enter");
  await note.getByRole("button", { name: "Discard" }).click();
  await note.waitFor({ state: "detached" });
  await begins("let go");

  // A reload keeps what was refused, and its key; let go after one, there is still where to write.
  await say(visitor, "n=3 for nothing");
  await note.getByText("The lamp fell over.").waitFor();
  await page.reload();
  await note.getByRole("button", { name: "Discard" }).click();
  await note.waitFor({ state: "detached" });
  await begins("let go after a reload");
  await say(visitor, text);
  await note.getByText("The lamp fell over.").waitFor();
  await page.reload();
  await note.getByText("This was not sent.").waitFor();
  forget(visitor);
  await visitor.look("kept", { at: chat(instance), see: [text, "This was not sent.", "Retry", "Edit", "Discard"] });
  await page.unroute(mine);
  await note.getByRole("button", { name: "Retry" }).click();
  await settled(visitor, 1);
  check(visitor, "sent again", keys.length === 5 && keys.at(-1) === keys.at(-2), `was sent under ${keys.join()}`);
  const { messages } = await history(visitor);
  check(visitor, "sent again", messages.filter((message) => message.role === "user").length === 1, "is more than one message");
  await equal(visitor, "sent again");
  await page.reload();
  await settled(visitor, 1);
  check(visitor, "sent again", (await page.locator(".standing").count()) === 0, "is offered again");

  // What cannot be taken back or stopped says why, and stays.
  await say(visitor, "n=3000 delay=20");
  await page.locator(".it").nth(1).getByText("word5").waitFor();
  await say(visitor, "n=2 behind it");
  const queue = page.getByRole("list", { name: "Waiting prompts" });
  await queue.getByRole("button", { name: "Remove from the queue" }).waitFor();
  const aborts = (url) => url.pathname.endsWith("/abort");
  await page.route(aborts, (route) => route.fulfill(lamp(500)));
  for (const act of ["Remove from the queue", "Take back and edit", "Stop only this reply"]) {
    await queue.getByRole("button", { name: act }).click();
    const said = page.locator(".toast").getByText("The lamp fell over.");
    await said.waitFor();
    await page.locator(".toast").getByRole("button", { name: "Dismiss" }).click();
    await said.waitFor({ state: "detached" });
  }
  check(visitor, "not taken back", (await composer(visitor).inputValue()) === "", "is edited, though it is in the queue");
  await page.unroute(aborts);
  await queue.getByRole("button", { name: "Remove from the queue" }).click();
  await queue.waitFor({ state: "detached" });
  await composer(visitor).press("Escape");
  await page.locator(".foot.stopped").waitFor();
  forget(visitor);

  // A conversation that cannot be read says why, and is read when it can be.
  await page.route(mine, (route) => route.fulfill({ ...lamp(500), headers: { "retry-after": "600" } }));
  await visitor.open(chat(instance));
  const bar = page.locator(".connection");
  await bar.getByText("The lamp fell over.").waitFor();
  await page.unroute(mine);
  await bar.getByRole("button", { name: "Try again" }).click();
  await settled(visitor, 2);
  await bar.waitFor({ state: "detached" });
  await equal(visitor, "read again");
  forget(visitor);
});
