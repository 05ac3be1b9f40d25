// The service is killed in the middle of a reply, and started again: the bar says so, the same turn goes on, and ends once.
import { ask, given, perform } from "./stage.mjs";
import { begin, check, equal, forget, history, open, say, settled } from "./chat.mjs";

const times = given.soak ? 20 : 1;

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  for (let i = 1; i <= times; i++) {
    if (i > 1) await open(visitor);
    await say(visitor, "n=200 delay=25");
    await visitor.page.getByText(`word${20 + ((i * 7) % 40)}`).first().waitFor();
    await ask("kill");
    await visitor.page.locator(".connection").waitFor({ timeout: 10_000 });
    if (i === 1) await visitor.picture("killed");
    await ask("start");
    await settled(visitor, 1, 60_000);
    await visitor.page.getByText("continued after a restart").waitFor();
    await visitor.page.locator(".connection").waitFor({ state: "detached" });
    const { settlements } = await history(visitor);
    check(visitor, `killed ${i}`, settlements.length === 1 && settlements[0].outcome === "completed", `settled as ${JSON.stringify(settlements)}`);
    await equal(visitor, `killed ${i}`);
    forget(visitor);
  }
  console.log(`killed in a reply ${times} times: nothing lost, nothing doubled`);
});
