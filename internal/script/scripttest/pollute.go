// Package scripttest has scripts for the tests of those that run them.
package scripttest

// Pollute replaces all that a module can replace of the language: methods of prototypes, functions of namespaces, and globals. What the web
// has goes on under another name: URL as myURL.
const Pollute = `
const evil = (name) => function () { throw new SyntaxError("replaced: " + name); };
const kinds = ["Array", "ArrayBuffer", "BigInt", "Boolean", "DataView", "Date", "Error", "Function", "Map", "Number", "Object", "Promise", "RegExp", "Set", "String", "Symbol", "TypeError", "RangeError", "Uint8Array", "WeakMap", "WeakSet", "WeakRef"];
const places = [];
for (const k of kinds) places.push([k + ".prototype", globalThis[k].prototype], [k, globalThis[k]]);
places.push(["TypedArray.prototype", Object.getPrototypeOf(Uint8Array.prototype)], ["TypedArray", Object.getPrototypeOf(Uint8Array)], ["JSON", JSON], ["Math", Math], ["Reflect", Reflect]);
places.push(["ArrayIterator", Object.getPrototypeOf([][Symbol.iterator]())], ["MapIterator", Object.getPrototypeOf(new Map()[Symbol.iterator]())], ["Iterator", Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))], ["Generator", Object.getPrototypeOf((function* () {}).prototype)], ["AsyncGenerator", Object.getPrototypeOf((async function* () {}).prototype)]);
const { getOwnPropertyDescriptor, defineProperty } = Object, { ownKeys } = Reflect, { String: text } = globalThis;
const keep = new Set(["constructor", "prototype", "length", "name"]), todo = [];
for (const [name, o] of places) for (const k of ownKeys(o)) {
  if (keep.has(k)) continue;
  const d = getOwnPropertyDescriptor(o, k), f = evil(name + "." + text(k));
  if (d.configurable && (typeof d.value === "function" || d.get)) todo.push([o, k, d.get ? { __proto__: null, get: f, configurable: true } : { __proto__: null, value: f, writable: true, configurable: true }]);
}
for (const k of ["setTimeout", "clearTimeout", "queueMicrotask", "console", "Headers", "URL", "URLSearchParams", "Blob", "File", "FormData", "ReadableStream", "Event", "AbortSignal", "TextDecoder", "crypto", "performance"]) { globalThis["my" + k] = globalThis[k]; kinds.push(k); }
kinds.push("JSON", "Reflect", "Math", "encodeURIComponent", "decodeURIComponent", "parseInt", "isNaN", "Proxy");
for (let i = 0; i < todo.length; i++) defineProperty(todo[i][0], todo[i][1], todo[i][2]);
for (let i = 0; i < kinds.length; i++) globalThis[kinds[i]] = evil(kinds[i]);
`
