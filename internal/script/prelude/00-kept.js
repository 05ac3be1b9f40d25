// What the prelude uses of the language, as it was before any project's code ran. A project may replace a global or a method of a
// prototype; the prelude goes on with its own. So below: no method is called on a value (`push(list, x)`, not `list.push(x)`; a Table has its own), no array is
// spread, taken apart or walked by its iterator, no text is a template (the engine makes those by String.prototype.concat), and no promise
// is the result of a promise (the engine asks it for its `then`): what is awaited is awaited before it is returned.
const {
  Array,
  ArrayBuffer,
  BigInt,
  Boolean,
  DataView,
  Date,
  Error,
  EvalError,
  Function,
  Map,
  Number,
  Object,
  Promise,
  Proxy,
  RangeError,
  ReferenceError,
  RegExp,
  Set,
  String,
  Symbol,
  SyntaxError,
  TypeError,
  URIError,
  Uint8Array,
  WeakMap,
  WeakRef,
  WeakSet,
} = globalThis;
const { apply, construct, getPrototypeOf, ownKeys } = Reflect;
const { create, defineProperty, freeze, getOwnPropertyDescriptor, hasOwn, keys, setPrototypeOf } = Object;
const { isArray } = Array;
const { fromCharCode } = String;
const { parse: jsonParse, stringify: jsonStringify } = JSON;
const { floor, max, min, trunc } = Math;
const { isFinite, isNaN, isInteger } = Number;
const { encodeURIComponent, decodeURIComponent } = globalThis;
const realNow = Date.now,
  realRandom = Math.random;

const { bind, call: callMethod } = Function.prototype;
// uncurry makes a function of a method: what would be its `this` is the first argument.
const hostMethodOf = hostMethod;
delete globalThis.hostMethod;
const uncurry = (method) => hostMethodOf(method) ?? apply(bind, callMethod, [method]);
const push = uncurry(Array.prototype.push),
  join = uncurry(Array.prototype.join),
  sortArray = uncurry(Array.prototype.sort),
  popArray = uncurry(Array.prototype.pop);
const mapGet = uncurry(Map.prototype.get),
  mapSet = uncurry(Map.prototype.set),
  mapHas = uncurry(Map.prototype.has),
  mapDelete = uncurry(Map.prototype.delete),
  mapEach = uncurry(Map.prototype.forEach),
  mapKeys = uncurry(Map.prototype.keys);
const mapSize = uncurry(getOwnPropertyDescriptor(Map.prototype, "size").get),
  setSize = uncurry(getOwnPropertyDescriptor(Set.prototype, "size").get);
// Table is a Map whose methods are the prelude's own: those of its values can be called as they are, which costs a third.
class Table extends Map {}
for (const name of ["get", "set", "has", "delete", "forEach"]) Table.prototype[name] = Map.prototype[name];
const setAdd = uncurry(Set.prototype.add),
  setHas = uncurry(Set.prototype.has),
  setDelete = uncurry(Set.prototype.delete),
  setEach = uncurry(Set.prototype.forEach);
const weakGet = uncurry(WeakMap.prototype.get),
  weakSet = uncurry(WeakMap.prototype.set),
  weakSetAdd = uncurry(WeakSet.prototype.add),
  weakSetHas = uncurry(WeakSet.prototype.has);
const charCodeAt = uncurry(String.prototype.charCodeAt),
  strSlice = uncurry(String.prototype.slice),
  indexOf = uncurry(String.prototype.indexOf),
  split = uncurry(String.prototype.split),
  lowerCase = uncurry(String.prototype.toLowerCase),
  upperCase = uncurry(String.prototype.toUpperCase),
  trimEnd = uncurry(String.prototype.trimEnd),
  repeat = uncurry(String.prototype.repeat),
  padStart = uncurry(String.prototype.padStart),
  startsWith = uncurry(String.prototype.startsWith),
  toWellFormed = uncurry(String.prototype.toWellFormed);
const numberToString = uncurry(Number.prototype.toString),
  bigintToString = uncurry(BigInt.prototype.toString),
  symbolToString = uncurry(Symbol.prototype.toString),
  objectToString = uncurry(Object.prototype.toString),
  isEnumerable = uncurry(Object.prototype.propertyIsEnumerable),
  functionToString = uncurry(Function.prototype.toString),
  regexpToString = uncurry(RegExp.prototype.toString);
const exec = uncurry(RegExp.prototype.exec);
const dateTime = uncurry(Date.prototype.getTime),
  dateToString = uncurry(Date.prototype.toString),
  dateToISO = uncurry(Date.prototype.toISOString);
const then = uncurry(Promise.prototype.then);
const withResolvers = apply(bind, Promise.withResolvers, [Promise]),
  resolvedWith = apply(bind, Promise.resolve, [Promise]),
  rejectedWith = apply(bind, Promise.reject, [Promise]);
const TypedArray = getPrototypeOf(Uint8Array),
  typedProto = TypedArray.prototype;
const getter = (o, name) => uncurry(getOwnPropertyDescriptor(o, name).get);
const typedName = getter(typedProto, Symbol.toStringTag),
  typedBuffer = getter(typedProto, "buffer"),
  typedOffset = getter(typedProto, "byteOffset"),
  typedBytes = getter(typedProto, "byteLength"),
  typedLength = getter(typedProto, "length");
const typedSet = uncurry(typedProto.set),
  typedSlice = uncurry(typedProto.slice),
  typedSub = uncurry(typedProto.subarray);
const viewBuffer = getter(DataView.prototype, "buffer"),
  viewOffset = getter(DataView.prototype, "byteOffset"),
  viewBytes = getter(DataView.prototype, "byteLength");
const bufferBytes = getter(ArrayBuffer.prototype, "byteLength"),
  bufferSlice = uncurry(ArrayBuffer.prototype.slice),
  isView = ArrayBuffer.isView;
const bufferTransfer = ArrayBuffer.prototype.transfer && uncurry(ArrayBuffer.prototype.transfer);
const fromBase64 = apply(bind, Uint8Array.fromBase64, [Uint8Array]),
  toBase64 = uncurry(Uint8Array.prototype.toBase64),
  toHex = uncurry(Uint8Array.prototype.toHex);
const symIterator = Symbol.iterator,
  symAsyncIterator = Symbol.asyncIterator,
  symTag = Symbol.toStringTag;
const iteratorProto = getPrototypeOf(getPrototypeOf([][symIterator]()));
const asyncIteratorProto = getPrototypeOf(getPrototypeOf(async function* () {}.prototype));

// The species of a promise or of bytes is asked for by methods that the prelude keeps: it stays what it is.
for (const C of [Promise, TypedArray, ArrayBuffer]) defineProperty(C, Symbol.species, { __proto__: null, configurable: false });

const noop = () => {};
// test reports whether a pattern matches. Patterns of the prelude have neither g nor y, so they keep no place.
const test = (pattern, s) => exec(pattern, s) !== null;
// each walks an array by its indices.
const each = (list, fn) => {
  for (let i = 0; i < list.length; i++) fn(list[i], i);
};
const mapped = (list, fn) => {
  const out = [];
  for (let i = 0; i < list.length; i++) out[i] = fn(list[i], i);
  return out;
};
const filtered = (list, fn) => {
  const out = [];
  for (let i = 0; i < list.length; i++) if (fn(list[i], i)) push(out, list[i]);
  return out;
};
// sequence is what a program gave as one, as an array. An array is walked by its indices, whatever became of its iterator.
const sequence = (items) => {
  if (isArray(items)) return mapped(items, (x) => x);
  const out = [];
  for (const one of items) push(out, one);
  return out;
};
// mapChars makes a text of another, character by character, where a pattern says that there is something to change.
const mapChars = (s, pattern, fn) => {
  if (exec(pattern, s) === null) return s;
  const out = [];
  for (let i = 0; i < s.length; i++) push(out, fn(s[i], s[i + 1], s[i - 1]));
  return join(out, "");
};
// defer is a promise and its ends.
const defer = () => {
  const { promise, resolve, reject } = withResolvers();
  return { __proto__: null, promise, resolve, reject };
};
// quiet marks a promise as handled: its rejection is somebody's answer elsewhere.
const quiet = (p) => {
  then(p, undefined, noop);
  return p;
};
const isObject = (v) => (typeof v === "object" && v !== null) || typeof v === "function";
// hidden puts a property where programs do not stumble over it.
const hidden = (o, name, value) => defineProperty(o, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
const offer = (values) => each(keys(values), (name) => hidden(globalThis, name, values[name]));
const tag = (C, name) =>
  defineProperty(C.prototype, symTag, { __proto__: null, value: name, writable: false, enumerable: false, configurable: true });
