// What the scripts of this folder share. Each runs in Node and in the engine; what they record must be the same.
const records = [];
const hex = (b) => Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("");
const tagOf = (v) => Object.prototype.toString.call(v).slice(8, -1);
// told is a value as text: what two runtimes must agree on, without messages and stacks.
const told = (v, depth = 0) => {
  if (v === null || v === undefined || typeof v === "boolean") return String(v);
  if (typeof v === "number") return Object.is(v, -0) ? "-0" : String(v);
  if (typeof v === "string") return JSON.stringify(v);
  if (typeof v === "bigint") return v + "n";
  if (typeof v === "symbol") return v.toString();
  if (typeof v === "function") return "function";
  if (depth > 6) return "…";
  const in1 = (x) => told(x, depth + 1);
  if (v instanceof Error) return `${tagOf(v) === "DOMException" ? "DOMException " : ""}${v.name}`;
  if (ArrayBuffer.isView(v)) return v instanceof DataView ? `DataView ${hex(new Uint8Array(v.buffer, v.byteOffset, v.byteLength))}` : `${tagOf(v)} ${hex(new Uint8Array(v.buffer, v.byteOffset, v.byteLength))}`;
  if (v instanceof ArrayBuffer) return `ArrayBuffer ${hex(new Uint8Array(v))}`;
  if (v instanceof Date) return `Date ${v.getTime()}`;
  if (v instanceof RegExp) return String(v);
  if (v instanceof Map) return `Map{${[...v].map(([k, x]) => in1(k) + "=>" + in1(x)).join(",")}}`;
  if (v instanceof Set) return `Set{${[...v].map(in1).join(",")}}`;
  if (Array.isArray(v)) return `[${Array.from({ length: Math.min(v.length, 1000) }, (_, i) => (i in v ? in1(v[i]) : "hole")).join(",")}]`;
  if (v instanceof Number || v instanceof String || v instanceof Boolean) return `Object(${in1(v.valueOf())})`;
  const names = Object.keys(v);
  return `${tagOf(v) === "Object" ? "" : tagOf(v)}{${names.map((k) => `${k}:${in1(v[k])}`).join(",")}}`;
};
const check = async (name, fn) => {
  let text;
  let timer;
  const never = new Promise((r) => { timer = setTimeout(r, 400, "never"); });
  try { text = await Promise.race([Promise.resolve().then(fn).then((v) => told(v)), never]); } catch (e) { text = "throws " + told(e); }
  clearTimeout(timer);
  records.push([name, text]);
};
// chance is the same in both runtimes.
let seed = 0x2545f491;
const chance = () => { seed |= 0; seed = (seed + 0x6d2b79f5) | 0; let t = Math.imul(seed ^ (seed >>> 15), 1 | seed); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; };
const upTo = (n) => Math.floor(chance() * n);
const pick = (list) => list[upTo(list.length)];
const several = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const text = (alphabet, n) => several(upTo(n + 1), () => pick(alphabet)).join("");
const bytes = (n) => new Uint8Array(several(n, () => upTo(256)));
const tick = () => new Promise((r) => setTimeout(r, 1));
const settled = async (p) => { try { return { value: await p }; } catch (e) { return { error: e }; } };
// state of a promise after all jobs that are ready.
const state = async (p) => { await tick(); return Promise.race([p.then((v) => ["fulfilled", v], (e) => ["rejected", e]), Promise.resolve(["pending"])]); };
