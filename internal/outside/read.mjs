// Reads one stream with a client that others wrote, and prints every batch as it is handed over: {"offset", "items"}, one to
// a line. It ends when the client does, or when it has enough: an item of the type `until`, or so many `batches` with items.
import { writeSync } from "node:fs";
import { stream } from "@durable-streams/client";

const { url, params, key, live, offset, until, batches = Infinity } = JSON.parse(process.argv[2]);

let seen = 0;
function take({ offset, items }) {
  const line = Buffer.from(JSON.stringify({ offset, items }) + "\n");
  for (let written = 0; written < line.length; ) written += writeSync(1, line, written);
  seen += items.length > 0 ? 1 : 0;
  // A cancelled client may still open the connection that it was about to.
  if (live !== false && (seen >= batches || items.some((item) => item.type === until))) process.exit();
}

const headers = key ? { authorization: `Bearer ${key}` } : {};

// Without live the client reads one page.
for (let from = offset; ; ) {
  const response = await stream({ url, params, headers, live, offset: from, sseResilience: { logWarnings: false } });
  response.subscribeJson(take);
  await response.closed;
  from = response.offset;
  if (live !== false || response.upToDate) break;
}
