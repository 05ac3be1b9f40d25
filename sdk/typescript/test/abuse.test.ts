import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createClient, type Client, type Conversation, type RunEvent } from "@svc/sdk";
import { eventually, soak } from "./support/contract.js";
import { random } from "./support/proxy.js";
import { wantSame } from "./support/same.js";
import { Torture, missing } from "./support/torture.js";

const timing = { backoff: 1, backoffMax: 20, firstByte: 250, idle: 1_000, poll: 1_000, sseAgain: 100 };
const start: Conversation = { conversationId: "", messages: [], settlements: [], offset: "-1" };
const acts = ["cut", "reset", "truncate", "stall", "delay", "trickle", "hold"] as const;

describe("behind a proxy that means no good", { skip: missing }, () => {
  let proxy: Torture;
  let direct: Client;
  let client: Client;
  before(async () => {
    proxy = await Torture.start();
    direct = createClient({ baseUrl: proxy.server });
    client = createClient({ baseUrl: proxy.url, timing });
  });
  after(() => proxy?.stop());

  for (const live of ["auto", "sse", "long-poll"] as const) {
    test(`a run and a conversation by ${live}, whatever is done to them`, async (t) => {
      const { runId } = await direct.workflows.invoke("chatty", { input: { n: 20 }, wait: "result" });
      const events = await direct.runs.events(runId);
      await direct.agents.wait(await direct.agents.send("assistant", live, { message: "think n=20" }));
      const history = await direct.agents.history("assistant", live);
      const next = random(11);
      const rounds = soak ? 40 : 1;
      let hit = 0;
      for (let round = 0; round < rounds; round++) {
        for (const act of acts) {
          // One that asks for nothing but a stream that is held has nowhere to go.
          if (act === "hold" && live === "sse") continue;
          const after = act === "hold" ? 0 : Math.floor(next() * 3_000);
          await proxy.plan({ match: "GET", do: act, after, ms: 300, times: act === "hold" ? 1 : 2 });
          const got: RunEvent[] = [];
          await client.runs.stream(runId, { live }).forEach((event) => void got.push(event));
          assert.deepEqual(got, events, `${act} after ${after}`);
          hit += await proxy.hits();
          await proxy.plan({ match: "GET", do: act, after, ms: 300, times: act === "hold" ? 1 : 2 });
          const observation = client.agents.observe("assistant", live, { live, from: start });
          for await (const state of observation) if (state.offset === history.offset) break;
          observation.close();
          wantSame(observation.getSnapshot(), history, `${act} after ${after}`);
          hit += await proxy.hits();
        }
      }
      t.diagnostic(`${hit} exchanges were abused`);
      assert.ok(hit >= rounds * 12);
    });
  }

  test("a sending that is cut, or comes twice, is admitted once", async () => {
    let sent = 0;
    for (const one of [{ do: "duplicate" }, { do: "cut", of: "answer", after: 0 }, { do: "reset", of: "request", after: 250 }, { do: "truncate", of: "answer", after: 40 }]) {
      await proxy.plan({ match: "POST", ...one });
      await client.agents.send("assistant", "sent", { message: "n=1 " + "x".repeat(100) });
      sent++;
      assert.equal(await proxy.hits(), 1, JSON.stringify(one));
    }
    await eventually("all is settled", async () => (await direct.agents.submissions("assistant", "sent")).length === 0);
    const { messages } = await direct.agents.history("assistant", "sent");
    assert.equal(messages.filter((message) => message.role === "user").length, sent);
  });
});
