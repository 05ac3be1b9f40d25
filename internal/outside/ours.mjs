// Reads one stream with the client that we wrote, and prints what it hands over as read.mjs does. The first argument is where that
// client lies.
import { writeSync } from "node:fs";

const { createClient } = await import(process.argv[2]);
const { url, key, live, offset } = JSON.parse(process.argv[3]);

const [, baseUrl, kind, ...names] = /^(.*)\/(runs|agents)\/([^/]+)(?:\/([^/]+))?$/.exec(url);
const client = createClient({ baseUrl, ...(key && { token: key }) });

function take(item) {
  const line = Buffer.from(JSON.stringify({ offset: "", items: [item] }) + "\n");
  for (let written = 0; written < line.length; ) written += writeSync(1, line, written);
}

if (kind === "runs") {
  await client.runs.stream(names[0], { live }).forEach(take);
} else {
  const from = { conversationId: "", messages: [], settlements: [], offset };
  const observation = client.agents.observe(names[0], names[1], { live, from, onUpdate: take });
  for await (const state of observation) if (state.settlements.length > 0) break;
  observation.close();
}
