// The console: values as people read them, cut where a line would be longer than one may be.
const lineLimit = 65536;
class Shown {
  text = "";
  seen = [];
  get full() {
    return this.text.length >= lineLimit;
  }
  put(s) {
    if (!this.full) this.text += s;
  }
}
setPrototypeOf(Shown.prototype, null);
const plainKey = /^[A-Za-z_$][\w$]*$/;
const showInto = (out, v, depth) => {
  switch (typeof v) {
    case "string":
      out.put(depth === 0 ? v : jsonStringify(v.length > lineLimit ? strSlice(v, 0, lineLimit) : v));
      return;
    case "bigint":
      out.put(bigintToString(v) + "n");
      return;
    case "symbol":
      out.put(symbolToString(v));
      return;
    case "function": {
      const name = ownText(v, "name");
      out.put(name ? "[Function: " + name + "]" : "[Function (anonymous)]");
      return;
    }
    case "object":
      if (v !== null) {
        showObject(out, v, depth);
        return;
      }
  }
  out.put(v === 0 && 1 / v < 0 ? "-0" : String(v));
};
// ownText is a property that holds text, without asking a getter of a stranger.
const ownText = (o, name) => {
  const d = getOwnPropertyDescriptor(o, name);
  return d && typeof d.value === "string" ? d.value : "";
};
const inherited = (o, name) => {
  for (let p = o; p !== null; p = getPrototypeOf(p)) {
    const d = getOwnPropertyDescriptor(p, name);
    if (d) return typeof d.value === "string" ? d.value : "";
  }
  return "";
};
const className = (o) => {
  const p = getPrototypeOf(o);
  if (p === null) return "[Object: null prototype]";
  const d = getOwnPropertyDescriptor(p, "constructor");
  return d && typeof d.value === "function" ? ownText(d.value, "name") : "";
};
const showError = (out, e) => {
  const name = isDOMException(e) ? e.name : inherited(e, "name") || "Error",
    message = isDOMException(e) ? e.message : inherited(e, "message"),
    stack = ownText(e, "stack");
  out.put((message ? name + ": " + message : name) + (stack ? "\n" + trimEnd(stack) : ""));
};
const showObject = (out, v, depth) => {
  if (v instanceof Error) {
    showError(out, v);
    const cause = getOwnPropertyDescriptor(v, "cause");
    if (cause && depth < 3) {
      out.put("\n  [cause]: ");
      showInto(out, cause.value, depth + 1);
    }
    return;
  }
  for (let i = 0; i < out.seen.length; i++)
    if (out.seen[i] === v) {
      out.put("[Circular]");
      return;
    }
  if (depth > 2) {
    out.put(isArray(v) ? "[Array]" : "[Object]");
    return;
  }
  push(out.seen, v);
  try {
    showInside(out, v, depth);
  } catch {
    out.put("[Object]");
  }
  popArray(out.seen);
};
const showInside = (out, v, depth) => {
  if (isArray(v)) {
    out.put("[");
    for (let i = 0; i < v.length && i < 100 && !out.full; i++) {
      out.put(i ? ", " : " ");
      showProperty(out, v, i, depth);
    }
    out.put(v.length > 100 ? ", ... " + (v.length - 100) + " more items ]" : v.length ? " ]" : "]");
    return;
  }
  const kind = kindOf(v);
  switch (kind) {
    case "Date": {
      const t = dateTime(v);
      out.put(isNaN(t) ? "Invalid Date" : dateToISO(v));
      return;
    }
    case "RegExp":
      out.put(regexpToString(v));
      return;
    case "Promise":
      out.put("Promise {}");
      return;
    case "Map": {
      let n = 0;
      out.put("Map(" + mapSize(v) + ") {");
      mapEach(v, (x, k) => {
        if (n++ < 100) {
          out.put(n > 1 ? ", " : " ");
          showInto(out, k, depth + 1);
          out.put(" => ");
          showInto(out, x, depth + 1);
        }
      });
      out.put(n ? " }" : "}");
      return;
    }
    case "Set": {
      let n = 0;
      out.put("Set(" + setSize(v) + ") {");
      setEach(v, (x) => {
        if (n++ < 100) {
          out.put(n > 1 ? ", " : " ");
          showInto(out, x, depth + 1);
        }
      });
      out.put(n ? " }" : "}");
      return;
    }
    case "ArrayBuffer":
      out.put("ArrayBuffer { byteLength: " + bufferBytes(v) + " }");
      return;
    case "DataView":
      out.put("DataView { byteLength: " + viewBytes(v) + " }");
      return;
  }
  if (isView(v)) {
    const n = typedLength(v);
    out.put(typedName(v) + "(" + n + ") [");
    for (let i = 0; i < n && i < 100; i++) out.put((i ? ", " : " ") + String(v[i]));
    out.put(n > 100 ? ", ... " + (n - 100) + " more items ]" : n ? " ]" : "]");
    return;
  }
  const name = className(v),
    names = keys(v);
  out.put(name && name !== "Object" ? name + " {" : "{");
  for (let i = 0; i < names.length && i < 200 && !out.full; i++) {
    out.put((i ? ", " : " ") + (test(plainKey, names[i]) ? names[i] : jsonStringify(names[i])) + ": ");
    showProperty(out, v, names[i], depth);
  }
  out.put(names.length ? " }" : "}");
};
const showProperty = (out, v, key, depth) => {
  const d = getOwnPropertyDescriptor(v, key);
  if (d === undefined) out.put("<empty>");
  else if (d.get || d.set) out.put(d.get ? "[Getter]" : "[Setter]");
  else showInto(out, d.value, depth + 1);
};
const show = (v) => {
  const out = new Shown();
  showInto(out, v, 0);
  return out.full ? strSlice(out.text, 0, lineLimit) : out.text;
};

// The language's own objects are known by what their methods accept, not by what they inherit.
const accepts = (method, v) => {
  try {
    method(v);
    return true;
  } catch {
    return false;
  }
};
const regexpSource = getter(RegExp.prototype, "source");
const kindOf = (v) => {
  if (isView(v)) return typedName(v) === undefined ? "DataView" : typedName(v);
  switch (objectToString(v)) {
    case "[object Object]":
    case "[object Array]":
    case "[object Function]":
    case "[object Error]":
      if (!mayBeTagged(v)) return "";
      break;
  }
  if (accepts(mapSize, v)) return "Map";
  if (accepts(setSize, v)) return "Set";
  if (accepts(dateTime, v)) return "Date";
  if (v !== RegExp.prototype && accepts(regexpSource, v)) return "RegExp";
  if (accepts(bufferBytes, v)) return "ArrayBuffer";
  if (v instanceof Promise) return "Promise";
  return "";
};
// mayBeTagged reports whether something on the way up has hidden what an object is.
const mayBeTagged = (v) => {
  for (let p = v; p !== null; p = getPrototypeOf(p)) if (hasOwn(p, symTag)) return true;
  return false;
};

const formatted = (args) => {
  const out = new Shown();
  let i = 0;
  if (typeof args[0] === "string" && args.length > 1 && indexOf(args[0], "%") >= 0) {
    i = 1;
    i = fill(out, args[0], args);
  }
  for (; i < args.length && !out.full; i++) {
    if (i > 0) out.put(" ");
    showInto(out, args[i], 0);
  }
  return out.full ? strSlice(out.text, 0, lineLimit) : out.text;
};
const fill = (out, s, args) => {
  let used = 1,
    from = 0;
  for (let at = indexOf(s, "%"); at >= 0 && at < s.length - 1; at = indexOf(s, "%", at)) {
    const c = s[at + 1];
    if (c === "%") {
      out.put(strSlice(s, from, at + 1));
      from = at = at + 2;
      continue;
    }
    if (used >= args.length || indexOf("sdifjoOc", c) < 0) {
      at++;
      continue;
    }
    out.put(strSlice(s, from, at));
    const v = args[used++];
    if (c === "s") showInto(out, v, typeof v === "object" ? 1 : 0);
    else if (c === "d" || c === "i" || c === "f")
      out.put(typeof v === "bigint" ? bigintToString(v) + "n" : typeof v === "symbol" ? "NaN" : String(c === "i" ? trunc(Number(v)) : Number(v)));
    else if (c === "j") {
      let t;
      try {
        t = jsonStringify(v);
      } catch {
        t = "[Circular]";
      }
      out.put(t ?? "undefined");
    } else if (c !== "c") showInto(out, v, 1);
    from = at = at + 2;
  }
  out.put(strSlice(s, from));
  return used;
};
let indent = "";
const counts = new Map(),
  stopwatches = new Map();
const write = (level, args) => {
  sync("log", level, indent + formatted(args));
};
const line =
  (level) =>
  (...args) => {
    write(level, args);
  };
const label = (v) => (v === undefined ? "default" : String(v));
const elapsed = (v) => {
  const t = mapGet(stopwatches, label(v));
  return t === undefined ? "No such label: " + label(v) : label(v) + ": " + (realNow() - t) + "ms";
};
const console = {
  log: line("info"),
  info: line("info"),
  debug: line("debug"),
  warn: line("warn"),
  error: line("error"),
  dirxml: line("info"),
  trace: (...args) => {
    write("debug", ["Trace: " + formatted(args) + "\n" + (new Error().stack ?? "")]);
  },
  assert: (ok, ...args) => {
    if (!ok) write("error", ["Assertion failed" + (args.length ? ": " + formatted(args) : "")]);
  },
  dir: (v) => write("info", [v]),
  table: (v) => write("info", [v]),
  clear() {},
  group: (...args) => {
    if (args.length) write("info", args);
    if (indent.length < 64) indent += "  ";
  },
  groupEnd() {
    indent = strSlice(indent, 2);
  },
  count: (v) => {
    const n = (mapGet(counts, label(v)) ?? 0) + 1;
    if (mapSize(counts) < 1000) mapSet(counts, label(v), n);
    write("info", [label(v) + ": " + n]);
  },
  countReset: (v) => {
    mapDelete(counts, label(v));
  },
  time: (v) => {
    if (mapSize(stopwatches) < 1000) mapSet(stopwatches, label(v), realNow());
  },
  timeLog: (v) => write("info", [elapsed(v)]),
  timeEnd: (v) => {
    write("info", [elapsed(v)]);
    mapDelete(stopwatches, label(v));
  },
};
console.groupCollapsed = console.group;
hidden(globalThis, "console", console);
hidden(globalThis, "reportError", (e) => {
  write("error", ["Uncaught", e]);
});

// What the engine lacks of the language.
if (!Error.captureStackTrace)
  hidden(Error, "captureStackTrace", function captureStackTrace(o) {
    const stack = new Error().stack ?? "",
      at = indexOf(stack, "\n");
    hidden(o, "stack", at < 0 ? stack : strSlice(stack, at + 1));
  });
if (!Array.fromAsync)
  hidden(Array, "fromAsync", async function fromAsync(items, fn, self) {
    const out = typeof this === "function" ? new this() : [];
    let i = 0;
    const add = async (v) => {
      if (fn) v = await apply(fn, self, [v, i]);
      defineProperty(out, i++, { __proto__: null, value: v, writable: true, enumerable: true, configurable: true });
    };
    const wait = items[symAsyncIterator],
      walk = items[symIterator];
    if (wait == null && walk == null) {
      const n = max(0, trunc(Number(items.length)) || 0);
      while (i < n) await add(await items[i]);
      out.length = i;
      return out;
    }
    const it = apply(wait ?? walk, items, []);
    try {
      for (;;) {
        const r = await it.next();
        if (r.done) break;
        await add(wait == null ? await r.value : r.value);
      }
    } catch (e) {
      try {
        await it.return?.();
      } catch {}
      throw e;
    }
    out.length = i;
    return out;
  });
each(["dispose", "asyncDispose"], (name) => {
  if (!Symbol[name]) defineProperty(Symbol, name, { __proto__: null, value: Symbol("Symbol." + name) });
});
