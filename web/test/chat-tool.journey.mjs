// The service is killed while a tool runs, and started again: the call is said to be interrupted, it is not made a second time, and the reply goes on.
// only in the soak
// with SVC_MODEL_ANTHROPIC_URL={provider}
// with SVC_MODEL_ALLOW_PRIVATE=127.0.0.0/8
import { ada, ask, given, perform, signUp } from "./stage.mjs";
import { check, composer, equal, forget, history, instanceOf, open, say, settled } from "./chat.mjs";
import { base, call } from "./runs.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  await call(visitor, "PUT", `${base}/models/anthropic`, { key: given.provider.key });
  const address = await ask("mcp server", { tools: [{ name: "print", description: "Prints a letter.", holds: true }] });
  const { id } = await call(visitor, "POST", `${base}/mcps`, { name: "office", url: address, auth: "none" });
  await call(visitor, "POST", `${base}/mcps/${id}/connect`, {});
  await call(visitor, "PATCH", `${base}/mcps/${id}/tools/print`, { enabled: true });
  await call(visitor, "POST", `${base}/agents`, { name: "clerk", model: "anthropic/claude-sonnet-4-5", instructions: "You print letters.", tools: ["office__print"] });

  await ask("provider says", { turns: [{ tool: "office__print" }, { text: "I cannot say whether it was printed." }] });
  await open(visitor);
  await page.locator(".composer").getByRole("button", { name: "central" }).click();
  await page.getByRole("menu").getByText("clerk", { exact: true }).click();
  await visitor.at(/\/agents\/clerk\/conversations\//);
  await composer(visitor).waitFor();
  await say(visitor, "Print the letter.");
  const card = (state) => page.getByRole("button", { name: new RegExp(`^office: print.*, ${state}`) });
  await card("running").waitFor();
  for (const end = Date.now() + 20_000; (await ask("mcp calls")) < 1; await page.waitForTimeout(50)) {
    if (Date.now() > end) throw new Error("the tool was not called");
  }

  await ask("kill");
  await page.locator(".connection").waitFor({ timeout: 10_000 });
  await ask("start");
  await settled(visitor, 1);
  await card("interrupted, result unknown, not repeated").waitFor();
  await page.getByText("I cannot say whether it was printed.").waitFor();
  check(visitor, "killed", (await ask("mcp calls")) === 1, `the tool ran ${await ask("mcp calls")} times`);
  const { messages, settlements } = await history(visitor, instanceOf(visitor), "clerk");
  check(visitor, "killed", settlements.length === 1 && settlements[0].outcome === "completed", `settled as ${JSON.stringify(settlements)}`);
  const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "dynamic-tool"));
  check(visitor, "killed", calls.length === 1 && /interrupted/.test(calls[0].errorText), `called as ${JSON.stringify(calls)}`);
  await equal(visitor, "killed", "clerk");
  forget(visitor);
  await visitor.look("interrupted", { at: page.url(), see: ["The server stopped while this ran.", "the model was told"] });

  // Whoever comes later finds the same.
  await page.reload();
  await card("interrupted, result unknown, not repeated").waitFor();
  await equal(visitor, "reloaded", "clerk");
});
