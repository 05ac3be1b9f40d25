import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createClient, type Client, type Conversation, type ConversationState, type RunEvent } from "@svc/sdk";
import { eventually, soak } from "./support/contract.js";
import { wantSame } from "./support/same.js";
import { Torture, missing } from "./support/torture.js";

// Two nodes share a database: go test names a PostgreSQL.
const db = process.env["SVC_CONTRACT_DB"];
const skip = missing || (!db?.startsWith("postgres") && "SVC_CONTRACT_DB names no PostgreSQL");

const timing = { backoff: 1, backoffMax: 50, patience: 60_000 };
const start: Conversation = { conversationId: "", messages: [], settlements: [], offset: "-1" };
const ways = ["sse", "long-poll"] as const;
type Way = (typeof ways)[number];

/** Nodes are two processes. Clients are at one of them. */
class Nodes {
  readonly #nodes: Torture[];
  #at = 0;

  private constructor(nodes: Torture[]) {
    this.#nodes = nodes;
  }

  static async start(): Promise<Nodes> {
    return new Nodes([await Nodes.#node(0), await Nodes.#node(1)]);
  }

  // A lease is short, so that work moves soon.
  static #node(i: number): Promise<Torture> {
    return Torture.start("-db", db!, "-node", `node${i}`, "-lease", "1s");
  }

  get server(): string {
    return this.#nodes[this.#at]!.server;
  }

  /** kill ends the node that clients are at, moves them to the other, and starts it again. */
  async kill(proxy: Torture): Promise<void> {
    const killed = this.#at;
    await this.#nodes[killed]!.kill();
    this.#at = 1 - killed;
    await proxy.move(this.server);
    this.#nodes[killed] = await Nodes.#node(killed);
  }

  async stop(): Promise<void> {
    for (const node of this.#nodes) await node.stop();
  }
}

/** events are those of a run, to its end. */
async function events(client: Client, runId: string, live: Way): Promise<RunEvent[]> {
  const got: RunEvent[] = [];
  await client.runs.stream(runId, { live }).forEach((event) => void got.push(event));
  return got;
}

/** conversation is one that was folded from its first update to its first settlement. */
async function conversation(client: Client, id: string, live: Way): Promise<ConversationState> {
  const seen = new Set<string>();
  const onUpdate = ({ position: { batch, index } }: { position: { batch: number; index: number } }): void => {
    assert.ok(!seen.has(`${batch}/${index}`), `${batch}/${index} came twice`);
    seen.add(`${batch}/${index}`);
  };
  const observation = client.agents.observe("assistant", id, { live, from: start, onUpdate });
  for await (const state of observation) if (state.settlements.length > 0) break;
  observation.close();
  return observation.getSnapshot();
}

/** round follows a run and a reply in both ways, through three deaths. */
async function round(client: Client, nodes: Nodes, proxy: Torture, id: string): Promise<void> {
  const { runId } = await client.workflows.invoke("chatty", { input: { n: 150, delay: 20 } });
  await client.agents.send("assistant", id, { message: "n=150 delay=20" });
  const runs = Promise.all(ways.map((live) => events(client, runId, live)));
  const conversations = Promise.all(ways.map((live) => conversation(client, id, live)));
  for (let i = 0; i < 3; i++) {
    await delay(400);
    await nodes.kill(proxy);
  }
  const [told, folded] = await Promise.all([runs, conversations]);
  const [want, history] = [await client.runs.events(runId), await client.agents.history("assistant", id)];
  for (const got of told) assert.deepEqual(got, want);
  for (const got of folded) wantSame(got, history, id);
}

test("work that moves between nodes is followed, and what is sent meanwhile is admitted once", { skip }, async (t: TestContext) => {
  const nodes = await Nodes.start();
  t.after(() => nodes.stop());
  const proxy = await Torture.start("-target", new URL(nodes.server).host);
  t.after(() => proxy.stop());
  await proxy.plan({ match: "live=", times: -1, upto: 40_000, do: "cut" });
  const client = createClient({ baseUrl: proxy.url, timing });

  let over = false;
  let prompts = 0;
  const chat = async (): Promise<void> => {
    for (; !over; await delay(100)) await client.agents.send("assistant", "chat", { message: `n=1 prompt ${prompts++}` });
  };
  const chatted = chat();
  const rounds = soak ? 15 : 1;
  for (let i = 0; i < rounds; i++) await round(client, nodes, proxy, `moved-${i}`);
  over = true;
  await chatted;
  await eventually("all is settled", async () => (await client.agents.submissions("assistant", "chat")).length === 0, 60_000);
  const { messages } = await client.agents.history("assistant", "chat");
  const said = messages.filter(({ role }) => role === "user").map(({ parts: [part] }) => part?.type === "text" && part.text);
  assert.deepEqual(said, Array.from({ length: prompts }, (_, i) => `n=1 prompt ${i}`));
  t.diagnostic(`figure moves-between-nodes ${3 * rounds} kills, ${await proxy.hits()} cuts, ${prompts} prompts, none lost, none doubled`);
});
