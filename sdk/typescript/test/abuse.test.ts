import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { createInterface } from "node:readline";
import { createClient, type Client, type Conversation, type RunEvent } from "@svc/sdk";
import { eventually, soak } from "./support/contract.js";
import { random } from "./support/proxy.js";
import { wantSame } from "./support/same.js";

// The proxy of internal/torture, which does worse than to cut: go test names its binary where there is one.
const binary = process.env["SVC_TORTURE"];
const skip = !binary && "SVC_TORTURE names no torture proxy";

const timing = { backoff: 1, backoffMax: 20, firstByte: 250, idle: 1_000, poll: 1_000, sseAgain: 100 };
const start: Conversation = { conversationId: "", messages: [], settlements: [], offset: "-1" };
const acts = ["cut", "reset", "truncate", "stall", "delay", "trickle", "hold"] as const;

describe("behind a proxy that means no good", { skip }, () => {
  let proxy: ChildProcess;
  let at: { proxy: string; control: string; server: string };
  let direct: Client;
  let client: Client;
  before(async () => {
    proxy = spawn(binary!, { stdio: ["pipe", "pipe", "ignore"] });
    for await (const line of createInterface({ input: proxy.stdout! })) {
      at = JSON.parse(line);
      break;
    }
    direct = createClient({ baseUrl: at.server });
    client = createClient({ baseUrl: at.proxy, timing });
  });
  after(() => void proxy.stdin!.end());

  const plan = async (...plans: object[]): Promise<void> => {
    await fetch(`${at.control}/plans`, { method: "DELETE" });
    const answer = await fetch(`${at.control}/plans`, { method: "POST", body: JSON.stringify(plans) });
    assert.equal(answer.status, 204, await answer.text());
  };
  const hits = async (): Promise<number> => ((await (await fetch(`${at.control}/hits`)).json()) as { hits: number }).hits;

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
          await plan({ match: "GET", do: act, after, ms: 300, times: act === "hold" ? 1 : 2 });
          const got: RunEvent[] = [];
          await client.runs.stream(runId, { live }).forEach((event) => void got.push(event));
          assert.deepEqual(got, events, `${act} after ${after}`);
          hit += await hits();
          await plan({ match: "GET", do: act, after, ms: 300, times: act === "hold" ? 1 : 2 });
          const observation = client.agents.observe("assistant", live, { live, from: start });
          for await (const state of observation) if (state.offset === history.offset) break;
          observation.close();
          wantSame(observation.getSnapshot(), history, `${act} after ${after}`);
          hit += await hits();
        }
      }
      t.diagnostic(`${hit} exchanges were abused`);
      assert.ok(hit >= rounds * 12);
    });
  }

  test("a sending that is cut, or comes twice, is admitted once", async () => {
    let sent = 0;
    for (const one of [{ do: "duplicate" }, { do: "cut", of: "answer", after: 0 }, { do: "reset", of: "request", after: 250 }, { do: "truncate", of: "answer", after: 40 }]) {
      await plan({ match: "POST", ...one });
      await client.agents.send("assistant", "sent", { message: "n=1 " + "x".repeat(100) });
      sent++;
      assert.equal(await hits(), 1, JSON.stringify(one));
    }
    await eventually("all is settled", async () => (await direct.agents.submissions("assistant", "sent")).length === 0);
    const { messages } = await direct.agents.history("assistant", "sent");
    assert.equal(messages.filter((message) => message.role === "user").length, sent);
  });
});
