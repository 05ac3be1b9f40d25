/** Verdict is what a walk along the chain of a log found. */
export interface Verdict {
  /** The numbers of the first and the last event that hold; 0: there is none. */
  from: number;
  to: number;
  /** The number of the first event that does not follow from the one before, or is not as it was written; undefined: all hold. */
  broken?: number;
}

/** lineHash is the hash that an event has, and the one that follows from its own text. */
async function lineHash(line: string): Promise<{ seq: number; prevHash: string; hash: string; computed: string }> {
  const { seq, prevHash, hash } = JSON.parse(line) as { seq: number; prevHash: string; hash: string };
  // Every byte counts, so the text is taken as it came: without its hash, which no value can contain unescaped.
  const text = line.replace(/,"hash":"[0-9a-f]*"/, "");
  const bytes = new TextEncoder().encode(text);
  const before = bytesOf(prevHash);
  const whole = new Uint8Array(before.length + bytes.length);
  whole.set(before);
  whole.set(bytes, before.length);
  const computed = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", whole)));
  return { seq, prevHash, hash, computed };
}

/** verify walks along the lines of an exported log. What was cut off at its end is not seen: only the operator's checkpoints tell that. */
export async function verify(lines: AsyncIterable<string> | Iterable<string>, tell: (seq: number) => void = () => {}): Promise<Verdict> {
  let last: { seq: number; hash: string } | undefined;
  let from = 0;
  for await (const line of lines) {
    const { seq, prevHash, hash, computed } = await lineHash(line);
    from ||= seq;
    const follows = last === undefined || (seq === last.seq + 1 && prevHash === last.hash);
    if (!follows || hash !== computed) return { from, to: last?.seq ?? 0, broken: seq };
    last = { seq, hash };
    tell(seq);
  }
  return { from, to: last?.seq ?? 0 };
}

/** linesOf are the lines of a body as it comes. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter(Boolean);
  }
  if (rest) yield rest;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
