// structuredClone.
const uncloneable = (v) => domError(show(v) + " could not be cloned.", "DataCloneError");
const errorKinds = new Map([
  ["EvalError", EvalError],
  ["RangeError", RangeError],
  ["ReferenceError", ReferenceError],
  ["SyntaxError", SyntaxError],
  ["TypeError", TypeError],
  ["URIError", URIError],
]);
const primitives = mapped([Number, String, Boolean, BigInt, Symbol], (C) => uncurry(C.prototype.valueOf));
const unboxed = (v) => {
  for (let i = 0; i < primitives.length; i++) {
    try {
      return [primitives[i](v)];
    } catch {}
  }
  return null;
};
const viewsByName = { __proto__: null };
each(
  [
    "Int8Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "BigInt64Array",
    "BigUint64Array",
  ],
  (n) => {
    if (globalThis[n]) viewsByName[n] = globalThis[n];
  },
);
const regexpFlags = getter(RegExp.prototype, "flags");

const structuredClone = function structuredClone(value, options) {
  if (arguments.length === 0) throw new TypeError("structuredClone needs a value");
  const moved = new Map();
  if (options?.transfer !== undefined)
    each(sequence(options.transfer), (one) => {
      if (!isBuffer(one)) throw uncloneable(one);
      if (mapHas(moved, one)) throw domError("An ArrayBuffer is transferred twice", "DataCloneError");
      mapSet(moved, one, null);
    });
  const seen = new Map();
  const remember = (v, out) => {
    mapSet(seen, v, out);
    return out;
  };
  const copy = (v) => {
    if (typeof v === "function" || typeof v === "symbol") throw uncloneable(v);
    if (v === null || typeof v !== "object") return v;
    if (mapHas(seen, v)) return mapGet(seen, v);
    if (isArray(v)) {
      const out = remember(v, []);
      out.length = v.length;
      properties(v, out);
      return out;
    }
    switch (kindOf(v)) {
      case "Date":
        return remember(v, new Date(dateTime(v)));
      case "RegExp":
        return remember(v, new RegExp(regexpSource(v), regexpFlags(v)));
      case "ArrayBuffer":
        return remember(v, mapHas(moved, v) ? bufferTransfer(v) : bufferSlice(v, 0));
      case "Map": {
        const out = remember(v, new Map()),
          pairs = [];
        mapEach(v, (x, k) => {
          push(pairs, k);
          push(pairs, x);
        });
        for (let i = 0; i < pairs.length; i += 2) mapSet(out, copy(pairs[i]), copy(pairs[i + 1]));
        return out;
      }
      case "Set": {
        const out = remember(v, new Set()),
          all = [];
        setEach(v, (x) => {
          push(all, x);
        });
        each(all, (x) => {
          setAdd(out, copy(x));
        });
        return out;
      }
      case "DataView": {
        const out = new DataView(copy(viewBuffer(v)), viewOffset(v), viewBytes(v));
        return remember(v, out);
      }
    }
    if (isView(v)) {
      const C = viewsByName[typedName(v)],
        offset = typedOffset(v),
        n = typedLength(v);
      return remember(v, new C(copy(typedBuffer(v)), offset, n));
    }
    if (isDOMException(v)) {
      const out = remember(v, domError(v.message, v.name));
      hidden(out, "stack", ownText(v, "stack"));
      return out;
    }
    if (v instanceof Error) return copyError(v);
    if (cloneBlob !== null) {
      const b = cloneBlob(v);
      if (b !== undefined) return remember(v, b);
    }
    const box = unboxed(v);
    if (box !== null) {
      if (typeof box[0] === "symbol") throw uncloneable(v);
      return remember(v, Object(box[0]));
    }
    if (isPlatform(v)) throw uncloneable(v);
    const out = remember(v, {});
    properties(v, out);
    return out;
  };
  const properties = (v, out) => {
    each(keys(v), (k) => {
      if (hasOwn(v, k)) {
        const x = copy(v[k]);
        defineProperty(out, k, { __proto__: null, value: x, writable: true, enumerable: true, configurable: true });
      }
    });
  };
  const copyError = (v) => {
    const C = mapGet(errorKinds, String(v.name)) ?? Error,
      made = remember(v, new C());
    const message = getOwnPropertyDescriptor(v, "message"),
      stack = getOwnPropertyDescriptor(v, "stack"),
      cause = getOwnPropertyDescriptor(v, "cause");
    if (message && "value" in message) hidden(made, "message", String(message.value));
    hidden(made, "stack", stack && typeof stack.value === "string" ? stack.value : "");
    if (cause && "value" in cause) hidden(made, "cause", copy(cause.value));
    return made;
  };
  const out = copy(value);
  mapEach(moved, (_, one) => {
    if (!mapHas(seen, one)) bufferTransfer(one);
  });
  return out;
};
// Objects that the language or the prelude made and that cannot be copied.
let cloneBlob = null;
const platform = [],
  generatorProto = getPrototypeOf(function* () {}.prototype),
  asyncGeneratorProto = getPrototypeOf(async function* () {}.prototype);
const isPlatform = (v) => {
  for (let p = getPrototypeOf(v); p !== null; p = getPrototypeOf(p)) if (p === generatorProto || p === asyncGeneratorProto) return true;
  if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef) return true;
  for (let i = 0; i < platform.length; i++) if (platform[i](v)) return true;
  return false;
};
push(
  platform,
  (v) => v instanceof EventTarget || v instanceof Event || v instanceof AbortController || v instanceof TextDecoder || v instanceof TextEncoder,
);
hidden(globalThis, "structuredClone", structuredClone);
