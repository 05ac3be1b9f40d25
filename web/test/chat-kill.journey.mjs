// The service is killed in the middle of a reply, and started again: the bar says so, the same turn goes on, and ends once. A gateway that dies
// takes nothing with it but the connection: where it is a process of its own, the reply has no seam.
import { ask, given, perform } from "./stage.mjs";
import { begin, check, equal, forget, history, open, say, settled } from "./chat.mjs";

const times = given.soak ? 20 : 1;
const deaths = [...Array(times).fill("runtime"), ...(given.halves ? Array(5).fill("gateway") : [])];

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  for (const [i, part] of deaths.entries()) {
    const name = `killed ${i + 1}, the ${part}`;
    if (i > 0) await open(visitor);
    await say(visitor, "n=200 delay=60");
    await visitor.page.getByText(`word${20 + ((i * 7) % 40)}`).first().waitFor();
    await ask("kill", { part });
    await visitor.page.locator(".connection").waitFor();
    if (i === 0) await visitor.picture("killed");
    await ask("start");
    await settled(visitor, 1, 60_000);
    await visitor.page.locator(".connection").waitFor({ state: "detached" });
    const seams = await visitor.page.getByText("continued after a restart").count();
    const wanted = given.halves && part === "gateway" ? 0 : 1;
    check(visitor, name, seams === wanted, `has ${seams} seams, want ${wanted}`);
    const { settlements } = await history(visitor);
    check(visitor, name, settlements.length === 1 && settlements[0].outcome === "completed", `settled as ${JSON.stringify(settlements)}`);
    await equal(visitor, name);
    await whole(visitor, name);
    forget(visitor);
  }
  console.log(`killed in a reply ${deaths.length} times: nothing lost, nothing doubled`);
});

// whole fails unless the reply is each of its words, once and in their order: the page and the service could lose the same.
async function whole(visitor, name) {
  const { messages } = await history(visitor);
  const said = messages.filter(({ role }) => role === "assistant").flatMap(({ parts }) => parts.map((part) => part.text ?? "")).join("").match(/word\d+/g) ?? [];
  check(visitor, name, said.length === 200 && said.every((word, i) => word === `word${i}`), `said ${said.length} words: ${said.join(" ").slice(0, 600)}`);
}
