import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { createClient, type Client, type Conversation, type RunEvent } from "@svc/sdk";
import { Contract, eventually, missing, soak } from "./support/contract.js";
import { Proxy, random, type Cut } from "./support/proxy.js";
import { wantSame } from "./support/same.js";

const timing = { backoff: 1, backoffMax: 5, patience: 5_000 };
const start: Conversation = { conversationId: "", messages: [], settlements: [], offset: "-1" };
const ways = ["sse", "long-poll"] as const;
/** How much of an answer its reader may not wait for: behind the last event of a stream, the end of its chunk and an empty one. */
const unheard = { sse: "\r\n0\r\n\r\n".length, "long-poll": 0 } as const;

describe("streams that are cut at any byte", { skip: missing }, () => {
  let contract: Contract;
  let direct: Client;
  let runId: string;
  let events: RunEvent[];
  let history: Conversation;
  before(async () => {
    contract = await Contract.start();
    direct = createClient({ baseUrl: contract.url });
    ({ runId } = await direct.workflows.invoke("chatty", { input: { n: 25 }, wait: "result" }));
    events = await direct.runs.events(runId);
    await direct.agents.wait(await direct.agents.send("assistant", "torture", { message: "think n=25" }));
    history = await direct.agents.history("assistant", "torture");
  });
  after(() => contract.stop());

  /** through reads by a proxy with a plan, and gives how many bytes it answered. */
  const through = async (plan: (n: number) => Cut | undefined, reading: (client: Client) => Promise<void>): Promise<Proxy> => {
    const proxy = await Proxy.start(contract.port, plan);
    try {
      await reading(createClient({ baseUrl: proxy.url, timing }));
    } finally {
      proxy.stop();
    }
    return proxy;
  };

  const readRun = (live: (typeof ways)[number]) => async (client: Client): Promise<void> => {
    const got: RunEvent[] = [];
    const stream = client.runs.stream(runId, { live });
    for await (const event of stream) got.push(event);
    assert.deepEqual(got, events);
    assert.ok(stream.closed);
  };

  const readAgent = (live: (typeof ways)[number]) => async (client: Client): Promise<void> => {
    const seen = new Set<string>();
    const onUpdate = ({ position }: { position: { batch: number; index: number } }): void => {
      const at = `${position.batch}/${position.index}`;
      assert.ok(!seen.has(at), `${at} came twice`);
      seen.add(at);
    };
    const observation = client.agents.observe("assistant", "torture", { live, from: start, onUpdate });
    for await (const state of observation) {
      if (state.offset === history.offset) break;
    }
    observation.close();
    wantSame(observation.getSnapshot(), history);
  };

  for (const live of ways) {
    for (const [name, reading] of [["a run", readRun(live)], ["a conversation", readAgent(live)]] as const) {
      test(`${name} by ${live}, cut once at each place`, async (t) => {
        const whole = (await through(() => undefined, reading)).answered;
        const points = soak ? whole : 70;
        let cuts = 0;
        for (let i = 0; i < points; i++) {
          const at = Math.floor((i * whole) / points);
          const proxy = await through((n) => (n === 0 ? { answered: at } : undefined), reading);
          if (proxy.connections >= 2) cuts++;
          else assert.ok(at >= whole - unheard[live], `cut at ${at} of ${whole}`);
        }
        t.diagnostic(`figure cuts-of-${name.replace(" ", "-")}-by-${live} ${cuts} in ${whole} bytes, none lost, none doubled`);
      });
    }

    test(`a run of several pages by ${live}, cut once at each place`, async (t) => {
      const { runId } = await direct.workflows.invoke("chatty", { input: { n: 1_200 }, wait: "result" });
      const want = (await direct.runs.events(runId)).map((event) => event.eventIndex);
      const offsets = new Set<string>();
      const reading = async (client: Client): Promise<void> => {
        const stream = client.runs.stream(runId, { live });
        const got: number[] = [];
        for await (const event of stream) {
          got.push(event.eventIndex);
          offsets.add(stream.offset);
        }
        assert.deepEqual(got, want);
      };
      const whole = (await through(() => undefined, reading)).answered;
      const points = soak ? 500 : 20;
      for (let i = 0; i < points; i++) await through((n) => (n === 0 ? { answered: Math.floor(((i + 0.5) * whole) / points) } : undefined), reading);
      assert.equal(offsets.size, 2, "there are two pages");
      t.diagnostic(`${points} cuts in ${whole} bytes`);
    });

    test(`a run and a conversation by ${live}, cut again and again`, async (t) => {
      const rounds = soak ? 300 : 8;
      let connections = 0;
      for (let seed = 1; seed <= rounds; seed++) {
        const next = random(seed);
        // Every connection gets a little further at most; the last ones are let through.
        const plan = (n: number): Cut | undefined => (n < 12 ? { answered: Math.floor(next() * 3_000) } : undefined);
        connections += (await through(plan, readRun(live))).connections;
        connections += (await through(plan, readAgent(live))).connections;
      }
      t.diagnostic(`${connections} connections`);
    });
  }

  test("a reply that goes on, cut again and again", async (t: TestContext) => {
    const rounds = soak ? 60 : 2;
    for (let seed = 1; seed <= rounds; seed++) {
      for (const live of ["auto", ...ways] as const) {
        const next = random(seed);
        const id = `goes-on-${live}-${seed}`;
        const proxy = await Proxy.start(contract.port, (n) => (n < 30 ? { answered: 300 + Math.floor(next() * 1_500) } : undefined));
        const client = createClient({ baseUrl: proxy.url, timing });
        const observation = client.agents.observe("assistant", id, { live });
        t.after(observation.close);
        observation.subscribe(() => {});
        const reply = await client.agents.wait(await client.agents.send("assistant", id, { message: "n=15 delay=10" }), { live });
        assert.equal(reply.text, Array.from({ length: 15 }, (_, i) => `word${i} `).join(""));
        const told = await direct.agents.history("assistant", id);
        await eventually("it is where the history is", () => observation.getSnapshot().offset === told.offset);
        observation.close();
        wantSame(observation.getSnapshot(), told, id, true);
        proxy.stop();
        t.diagnostic(`${live}: ${proxy.connections} connections`);
      }
    }
  });

  test("a sending that is cut at any byte, on its way or on the way back, is admitted once", async (t) => {
    const message = { kind: "user", body: "n=1 " + "x".repeat(soak ? 2_000 : 200) } as const;
    const sending = (id: string) => async (client: Client): Promise<void> => void (await client.agents.send("assistant", id, { message }));
    const whole = await through(() => undefined, sending("sent"));
    const step = soak ? 1 : 31;
    let cuts = 0;
    for (const direction of ["sent", "answered"] as const) {
      for (let at = 0; at < whole[direction]; at += step) {
        const proxy = await through((n) => (n === 0 ? { [direction]: at } : undefined), sending("sent"));
        assert.ok(proxy.connections >= 2, `${direction} ${at}`);
        cuts++;
      }
    }
    await eventually("all is settled", async () => (await direct.agents.submissions("assistant", "sent")).length === 0, 60_000);
    const { messages } = await direct.agents.history("assistant", "sent");
    assert.equal(messages.filter((m) => m.role === "user").length, cuts + 1);
    t.diagnostic(`figure cuts-of-sendings ${cuts} in ${whole.sent} bytes and ${whole.answered} of their answers, none lost, none doubled`);
  });
});
