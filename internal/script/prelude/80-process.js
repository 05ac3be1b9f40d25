// What programs expect beside the web's interfaces, and what says that it is missing.
const env = jsonParse(sync("env"));
const absent = (name, instead) => {
  const C = {
    [name]: class {
      constructor() {
        throw unsupported(name, instead);
      }
    },
  }[name];
  return C;
};
hidden(globalThis, "process", {
  env,
  platform: "svc",
  arch: "",
  version: "",
  versions: {},
  argv: [],
  execArgv: [],
  pid: 1,
  title: "svc",
  exitCode: undefined,
  cwd: () => "/",
  nextTick: (fn, ...args) => queueMicrotask(() => apply(fn, undefined, args)),
  uptime: () => (realNow() - origin) / 1000,
  on() {
    return this;
  },
  once() {
    return this;
  },
  off() {
    return this;
  },
  addListener() {
    return this;
  },
  removeListener() {
    return this;
  },
  emit() {
    return false;
  },
  listeners() {
    return [];
  },
  emitWarning: (w) => write("warn", [w]),
  exit() {
    throw unsupported("process.exit", "return, or throw an error");
  },
  hrtime: hidden(
    (before) => {
      const t = (realNow() - origin) / 1000,
        s = floor(t),
        n = floor((t - s) * 1e9);
      return before ? [s - before[0] - (n < before[1] ? 1 : 0), n - before[1] + (n < before[1] ? 1e9 : 0)] : [s, n];
    },
    "bigint",
    () => BigInt(realNow() - origin) * 1000000n,
  ),
});
offer({
  self: globalThis,
  global: globalThis,
  navigator: freeze({ userAgent: sync("agent"), hardwareConcurrency: 1, language: "en-US", languages: freeze(["en-US"]), onLine: true }),
  WebSocket: absent("WebSocket", "use fetch, or a ReadableStream for server-sent events"),
  EventSource: absent("EventSource", "use fetch and read the body as a stream"),
  Worker: absent("Worker", "start a workflow"),
  SharedWorker: absent("SharedWorker", "start a workflow"),
  BroadcastChannel: absent("BroadcastChannel", "dispatch to an agent"),
  CompressionStream: absent("CompressionStream", "the server compresses by itself"),
  DecompressionStream: absent("DecompressionStream", "fetch decompresses by itself"),
});
