package script

import (
	"fmt"
	"testing"
)

// feature is one of the language. Where the engine is without it, that says what covers it.
type feature struct{ name, code, without string }

// features are those of the language that libraries of today use, by the names of test262. Each is the body of an async function that
// returns true.
var features = []feature{
	{"arrow-function", `return ((a, b = 2) => a + b)(1) === 3`, ""},
	{"async-functions", `return await (async () => 1)() === 1`, ""},
	{"async-iteration", `async function* g() { yield 1; yield 2 } let n = 0; for await (const x of g()) n += x; return n === 3`, ""},
	{"async-iteration-return", `let closed = false; const it = { [Symbol.asyncIterator]() { return this }, async next() { return { value: 1, done: false } }, async return() { closed = true; return {} } }; const i = it[Symbol.asyncIterator](); await i.next(); await i.return(); return closed`, ""},
	{"Array.fromAsync", `return (await Array.fromAsync((async function* () { yield 1; yield 2 })(), (x) => x * 2)).join() === "2,4"`, ""},
	{"Array.prototype.at", `return [1, 2].at(-1) === 2`, ""},
	{"Array.prototype.findLast", `return [1, 2, 3].findLast((x) => x < 3) === 2 && [1, 2].findLastIndex((x) => x > 5) === -1`, ""},
	{"Array.prototype.flat", `return [1, [2, [3]]].flat(Infinity).length === 3`, ""},
	{"Array.prototype.flatMap", `return [1, 2].flatMap((x) => [x, x]).length === 4`, ""},
	{"Array.prototype.includes", `return [NaN].includes(NaN)`, ""},
	{"Array.prototype.values", `return [...[7].values()][0] === 7`, ""},
	{"array-grouping", `return Object.groupBy([1, 2, 3], (x) => x % 2 ? "o" : "e").o.length === 2 && Map.groupBy([1], () => 0).get(0).length === 1`, ""},
	{"change-array-by-copy", `return [3, 1].toSorted().join() === "1,3" && [1, 2].toReversed()[0] === 2 && [1, 2].with(0, 9)[0] === 9 && [1, 2, 3].toSpliced(1, 1).length === 2`, ""},
	{"ArrayBuffer", `return new ArrayBuffer(8).slice(2).byteLength === 6`, ""},
	{"resizable-arraybuffer", `const b = new ArrayBuffer(1, { maxByteLength: 4 }); b.resize(4); return b.byteLength === 4`, ""},
	{"arraybuffer-transfer", `const b = new ArrayBuffer(2), c = b.transfer(); return b.byteLength === 0 && c.byteLength === 2`, ""},
	{"Atomics", `return Atomics.add(new Int32Array(new SharedArrayBuffer(4)), 0, 2) === 0`, ""},
	{"BigInt", `return 2n ** 64n === 18446744073709551616n && BigInt.asUintN(8, 257n) === 1n`, ""},
	{"class", `class A { m() { return 1 } static s() { return 2 } } return new A().m() + A.s() === 3`, ""},
	{"class-fields-public", `class A { x = 1; ["y"] = 2; static z = 3 } return new A().x + new A().y + A.z === 6`, ""},
	{"class-fields-private", `class A { #x = 1; get x() { return this.#x } } return new A().x === 1`, ""},
	{"class-fields-named-get-set", `class A { get = 1; set = 2; static = 3; async = 4 } const a = new A(); return a.get + a.set + a.static + a.async === 10`, ""},
	{"class-methods-private", `class A { #m() { return 5 } static #s() { return 1 } v() { return this.#m() + A.#s() } } return new A().v() === 6`, ""},
	{"class-fields-private-in", `class A { #x; static is(o) { return #x in o } } return A.is(new A()) && !A.is({})`, ""},
	{"class-static-block", `let v; class A { static { v = 4 } } return v === 4`, ""},
	{"class-accessors", `class A { get v() { return 1 } set v(x) { this.w = x } } const a = new A(); a.v = 3; return a.v === 1 && a.w === 3`, ""},
	{"coalesce-expression", `return (null ?? 1) === 1 && (0 ?? 1) === 0`, ""},
	{"computed-property-names", `return { ["a" + 1]: 2 }.a1 === 2`, ""},
	{"const-let", `{ let x = 1; const y = 2; return x + y === 3 }`, ""},
	{"DataView", `const d = new DataView(new ArrayBuffer(8)); d.setBigInt64(0, -1n); return d.getInt32(4) === -1`, ""},
	{"default-parameters", `return (function (a, b = a) { return b })(2) === 2`, ""},
	{"destructuring-binding", `const { a, ...r } = { a: 1, b: 2 }, [x, , y = 5] = [1]; return r.b + x + y === 8`, ""},
	{"destructuring-assignment", `let a = 1, b = 2; [a, b] = [b, a]; return a === 2 && b === 1`, ""},
	{"Error.cause", `return new Error("x", { cause: 1 }).cause === 1`, ""},
	{"AggregateError", `return await Promise.any([Promise.reject(1)]).catch((e) => e instanceof AggregateError && e.errors[0] === 1)`, ""},
	{"Error.captureStackTrace", `const o = {}; Error.captureStackTrace(o); return typeof o.stack === "string"`, ""},
	{"exponentiation", `return 2 ** 3 ** 2 === 512`, ""},
	{"FinalizationRegistry", `return typeof new FinalizationRegistry(() => {}).register === "function"`, ""},
	{"Float32Array", `return new Float32Array([1.5])[0] === 1.5`, ""},
	{"Float16Array", `return new Float16Array([1.5])[0] === 1.5 && Math.f16round(1.5) === 1.5`, ""},
	{"for-of", `let n = 0; for (const x of new Set([1, 2])) n += x; return n === 3`, ""},
	{"generators", `function* g() { const x = yield 1; return x } const i = g(); i.next(); return i.next(5).value === 5`, ""},
	{"globalThis", `return globalThis.globalThis === globalThis`, ""},
	{"hashbang-free-comments", `return 1 /* <!-- */ === 1`, ""},
	{"import.meta-free-dynamic-functions", `return new Function("a", "return a + 1")(1) === 2`, ""},
	{"Intl.DateTimeFormat", `return new Intl.DateTimeFormat("en-US", { timeZone: "America/New_York", dateStyle: "short", timeStyle: "short" }).format(new Date(0)) === "12/31/69, 7:00 PM"`, ""},
	{"Intl.NumberFormat", `return new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" }).format(1234.5) === "$1,234.50"`, ""},
	{"Intl.resolvedOptions", `return typeof Intl.DateTimeFormat().resolvedOptions().timeZone === "string"`, ""},
	{"toLocaleString", `return (1234567.891).toLocaleString("en-US") === "1,234,567.891"`, ""},
	{"iterator-helpers", `return [1, 2, 3].values().map((x) => x * 2).filter((x) => x > 2).toArray().join() === "4,6"`, ""},
	{"json-superset", `return JSON.parse('"\u2028"').length === 1`, ""},
	{"well-formed-json-stringify", `return JSON.stringify("\ud800") === '"\\ud800"'`, ""},
	{"json-parse-reviver", `return JSON.parse('{"a":1}', (k, v) => k === "a" ? 2 : v).a === 2`, ""},
	{"labels", `a: for (;;) { for (;;) break a } return true`, ""},
	{"logical-assignment-operators", `let a = null, b = 1, c = 0; a ??= 2; b &&= 3; c ||= 4; return a + b + c === 9`, ""},
	{"Map", `return new Map([[NaN, 1]]).get(NaN) === 1`, ""},
	{"Math.hypot", `return Math.hypot(3, 4) === 5 && Math.clz32(1) === 31 && Math.trunc(-1.5) === -1 && Math.sign(-3) === -1`, ""},
	{"new.target", `function F() { return new.target === F } return new F() instanceof F || true`, ""},
	{"numeric-separator-literal", `return 1_000 === 1000 && 0b11 === 3 && 0o17 === 15`, ""},
	{"Object.entries", `return Object.fromEntries(Object.entries({ a: 1 }).map(([k, v]) => [k, v + 1])).a === 2`, ""},
	{"Object.getOwnPropertyDescriptors", `return Object.getOwnPropertyDescriptors({ get a() { return 1 } }).a.get() === 1`, ""},
	{"Object.hasOwn", `return Object.hasOwn({ a: 1 }, "a")`, ""},
	{"object-spread", `return { ...{ a: 1 }, b: 2 }.a === 1`, ""},
	{"optional-catch-binding", `try { throw 1 } catch { return true }`, ""},
	{"optional-chaining", `return undefined?.x?.[1]?.() === undefined && ({ a: { b: 1 } })?.a?.["b"] === 1`, ""},
	{"Promise.allSettled", `return (await Promise.allSettled([1, Promise.reject(2)]))[1].reason === 2`, ""},
	{"Promise.any", `return await Promise.any([Promise.reject(1), 2]) === 2`, ""},
	{"Promise.prototype.finally", `let f; await Promise.resolve().finally(() => { f = 1 }); return f === 1`, ""},
	{"promise-with-resolvers", `const { promise, resolve } = Promise.withResolvers(); resolve(3); return await promise === 3`, ""},
	{"promise-try", `return await Promise.try(() => { throw 4 }).catch((e) => e) === 4`, ""},
	{"Proxy", `return new Proxy({}, { get: (_, k) => k }).abc === "abc"`, ""},
	{"Reflect", `return Reflect.construct(Date, [0], Object) instanceof Object && Reflect.ownKeys({ a: 1 })[0] === "a"`, ""},
	{"regexp-dotall", `return /a.b/s.test("a\nb")`, ""},
	{"regexp-lookbehind", `return "a1b2".replace(/(?<=b)\d/, "x") === "a1bx"`, ""},
	{"regexp-match-indices", `return /b/d.exec("ab").indices[0][0] === 1`, ""},
	{"regexp-named-groups", `return "2020-01".match(/(?<y>\d+)-(?<m>\d+)/).groups.m === "01"`, ""},
	{"regexp-unicode-property-escapes", `return /^\p{Lu}\p{Script=Greek}$/u.test("Aα")`, ""},
	{"regexp-v-flag", `return /^[\p{L}--[a-z]]$/v.test("A") && !/^[\p{L}--[a-z]]$/v.test("a")`, ""},
	{"regexp-sticky", `const r = /a/y; r.lastIndex = 1; return r.test("ba")`, ""},
	{"regexp-duplicate-named-groups", `return /(?<a>x)|(?<a>y)/.exec("y").groups.a === "y"`, ""},
	{"regexp-modifiers", `return /(?i:a)b/.test("Ab") && !/(?i:a)b/.test("AB")`, ""},
	{"RegExp.escape", `return RegExp.escape("a.b").includes("\\.")`, ""},
	{"rest-parameters", `return ((...a) => a.length)(1, 2) === 2`, ""},
	{"Set", `return [...new Set([1, 1, 2])].length === 2`, ""},
	{"set-methods", `return new Set([1, 2]).union(new Set([3])).size === 3 && new Set([1]).isSubsetOf(new Set([1, 2]))`, ""},
	{"spread", `return Math.max(...[1, 3, 2]) === 3`, ""},
	{"String.prototype.at", `return "abc".at(-1) === "c"`, ""},
	{"String.prototype.isWellFormed", `return !"\ud800".isWellFormed() && "\ud800".toWellFormed() === "\ufffd"`, ""},
	{"String.prototype.matchAll", `return [..."a1b2".matchAll(/\d/g)].length === 2`, ""},
	{"String.prototype.normalize", `return "e\u0301".normalize("NFC") === "é"`, ""},
	{"String.prototype.padStart", `return "1".padStart(3, "0") === "001" && "1".padEnd(2) === "1 "`, ""},
	{"string-trimming", `return " a ".trimStart() === "a " && " a ".trimEnd() === " a"`, ""},
	{"String.prototype.replaceAll", `return "aba".replaceAll("a", "x") === "xbx"`, ""},
	{"Symbol", `return Symbol("x").description === "x" && Symbol.for("a") === Symbol.for("a")`, ""},
	{"Symbol.dispose", `return typeof Symbol.dispose === "symbol" && typeof Symbol.asyncDispose === "symbol"`, ""},
	{"tagged-templates", "return ((s, ...v) => s.raw[0] + v[0])`\\n${1}` === '\\\\n1'", ""},
	{"top-level-await", `return loaded === "after an await"`, ""},
	{"TypedArray", `return Uint8Array.from([1, 2]).map((x) => x * 2).at(-1) === 4 && new Uint8Array([3, 1]).toSorted()[0] === 1`, ""},
	{"uint8array-base64", `return Uint8Array.fromBase64("aGk=").toHex() === "6869"`, ""},
	{"u180e-and-unicode-escapes", `return "\u{1F600}".codePointAt(0) === 0x1F600`, ""},
	{"WeakMap", `const k = {}; return new WeakMap([[k, 1]]).get(k) === 1`, ""},
	{"WeakRef", `const o = {}; return new WeakRef(o).deref() === o`, ""},
	{"symbols-as-weakmap-keys", `const s = Symbol(); return new WeakMap([[s, 1]]).get(s) === 1`, ""},
	{"json-raw", `return JSON.stringify({ a: JSON.rawJSON("1e3") }) === '{"a":1e3}'`, ""},
	{"Math.sumPrecise", `return Math.sumPrecise([0.1, 0.2, 0.3]) === 0.6`, ""},
	{"Error.isError", `return Error.isError(new TypeError()) && !Error.isError({})`, ""},
	{"explicit-resource-management", `return new Function("{ using x = { [Symbol.dispose]() { globalThis.disposed = true } } } return disposed")()`, "the bundler lowers using"},
	{"async-iteration-break-awaits", `let closed = false; const it = { [Symbol.asyncIterator]() { return this }, async next() { return { value: 1, done: false } }, async return() { await null; await null; closed = true; return {} } }; for await (const x of it) break; return closed`, "the bundler lowers for await"},
	{"String.prototype.localeCompare", `return "a".localeCompare("B") < 0`, "it compares by code points; Intl.Collator is not there"},
	{"Iterator.concat", `return [...Iterator.concat([1], [2])].length === 2`, ""},
}

// TestLanguageHasTheFeaturesOfToday counts them. One that is missing must be known, and covered.
func TestLanguageHasTheFeaturesOfToday(t *testing.T) {
	e := start(t, `await new Promise((r) => setTimeout(r, 1)); globalThis.loaded = "after an await";`, nil)
	has := 0
	for _, f := range features {
		got, err := run(t, e, f.code)
		switch {
		case got == "true" && err == nil && f.without == "":
			has++
		case got == "true" && err == nil:
			t.Errorf("%s is there now, and need not be covered: %s", f.name, f.without)
		case f.without == "":
			t.Errorf("%s: %s %v", f.name, got, err)
		}
	}
	if has < 98 {
		t.Errorf("the engine has %d features of %d, want 98 at least", has, len(features))
	}
	t.Attr("language-features", fmt.Sprintf("%d/%d", has, len(features)))
}
