package script

import (
	"strings"
	"testing"

	"svc.dev/svc/internal/script/scripttest"
)

// battery uses the web's interfaces by syntax alone: in its world no method of the language is left.
var battery = []struct{ code, value string }{
	{`const u = new myURL("/a%20b?x=1&y=é#z", "http://u:p@h:81/"); u.searchParams.append("k", "v w"); u.pathname = "/q"; return [u.href, u.searchParams.get("x"), u.searchParams.getAll("k"), u.searchParams.toString(), u.searchParams.has("y"), u.searchParams.size]`, `["http://u:p@h:81/q?x=1&y=%C3%A9&k=v+w#z","1",["v w"],"x=1&y=%C3%A9&k=v+w",true,3]`},
	{`const p = new myURLSearchParams("b=2&a=1&a=%zz"); p.sort(); p.set("c", 3); p.delete("b"); let out = ""; p.forEach((v, k) => { out += k + v }); return [p.toString(), out]`, `["a=1&a=%25zz&c=3","a1a%zzc3"]`},
	{`const h = new myHeaders({ a: "1", "Set-Cookie": "x" }); h.append("A", "2"); h.append("set-cookie", "y"); h.set("z", " t "); let out = ""; h.forEach((v, k) => { out += k + "=" + v + ";" }); return [h.get("a"), h.getSetCookie(), h.has("Z"), out]`, `["1, 2",["x","y"],true,"a=1, 2;set-cookie=x;set-cookie=y;z=t;"]`},
	{`const r = new Response("{\"a\":[1,\"é\"]}", { status: 201, headers: { x: "y" } }), c = r.clone(); return [r.status, r.headers.get("content-type"), (await r.json()).a, await c.text(), r.bodyUsed]`, `[201,"text/plain;charset=UTF-8",[1,"é"],"{\"a\":[1,\"é\"]}",true]`},
	{`const q = new Request("http://h/x", { method: "post", body: "body", headers: { k: "v" } }); const d = new Request(q); return [d.method, d.url, d.headers.get("k"), await d.text(), q.bodyUsed]`, `["POST","http://h/x","v","body",true]`},
	{`const f = new myFormData(); f.append("t", "a\nb"); f.append("f", new myFile(["hé"], "n\"q", { type: "x/y" })); const r = new Response(f), g = await r.formData(); return [g.get("t"), g.get("f").name, g.get("f").type, await g.get("f").text(), g.has("x")]`, `["a\r\nb","n\"q","x/y","hé",false]`},
	{`const b = new myBlob(["ab", new myBlob(["cd"])], { type: "T/U" }); return [b.size, b.type, await b.text(), await b.slice(1, 3).text()]`, `[4,"t/u","abcd","bc"]`},
	{`let n = 0; const s = new myReadableStream({ pull(c) { n < 3 ? c.enqueue(n++) : c.close() } }); let sum = 0; for await (const x of s) sum += x; return sum`, `3`},
	{`let s = ""; await new Response("streamed text that is longer than a few letters").body.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream({ transform(x, c) { c.enqueue(x + "!") } })).pipeTo(new WritableStream({ write(x) { s += x } })); return s`, `"streamed text that is longer than a few letters!"`},
	{`const t = new myReadableStream({ start(c) { c.enqueue("x"); c.close() } }).tee(); let a = "", b = ""; for await (const x of t[0]) a += x; for await (const x of t[1]) b += x; return a + b`, `"xx"`},
	{`let out = ""; const c = new AbortController(); c.signal.addEventListener("abort", () => { out += "heard" }, { once: true }); const any = myAbortSignal.any; c.abort("why"); try { c.signal.throwIfAborted() } catch (e) { out += e } return out`, `"heardwhy"`},
	{`const t = new EventTarget(); let out = ""; t.addEventListener("x", (e) => { out += e.type }); t.dispatchEvent(new myEvent("x")); return out`, `"x"`},
	{`return [new myTextDecoder().decode(new TextEncoder().encode("hé 😀 and a longer text that goes to Go")), btoa("abc"), atob("YWJj")]`, `["hé 😀 and a longer text that goes to Go","YWJj","abc"]`},
	{`const c = structuredClone({ a: [1, { b: "x" }], n: null }); return c`, `{"a":[1,{"b":"x"}],"n":null}`},
	{`return new myBlob([await mycrypto.subtle.digest("SHA-256", new TextEncoder().encode("x"))]).size + mycrypto.randomUUID().length`, `68`},
	{`const enc = new TextEncoder(), k = await mycrypto.subtle.importKey("raw", enc.encode("key"), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]); const s = await mycrypto.subtle.sign("HMAC", k, enc.encode("data")); return await mycrypto.subtle.verify("HMAC", k, s, enc.encode("data"))`, `true`},
	{`let done; const id = mysetTimeout(() => { done = "no" }, 1); myclearTimeout(id); const b = new EventTarget(); mysetTimeout((x) => { done = x; b.dispatchEvent(new myEvent("go")) }, 2, "yes"); const s = new myReadableStream({ start(c) { b.addEventListener("go", () => c.close()) } }); for await (const x of s); return done`, `"yes"`},
	{`let out = ""; myqueueMicrotask(() => { out += "micro" }); await null; await null; return out`, `"micro"`},
	{`myconsole.log("text", { a: [1, 2] }, new Response("x")); myconsole.error("%s", "formatted"); return 1`, `1`},
	{`try { new myURL("bad") } catch (e) { return [e.name, e.message] }`, `["TypeError","Invalid URL"]`},
	{`try { await fetch("bad") } catch (e) { return e.name }`, `"TypeError"`},
	{`return await (await fetch("data:text/plain,held")).text()`, `"held"`},
}

func TestModuleThatReplacesTheLanguageDoesNotBreakThePrelude(t *testing.T) {
	log, lines := recorder()
	e := start(t, scripttest.Pollute, func(c *Config) { c.Log = log })
	for _, c := range battery {
		want(t, e, c.code, c.value)
	}
	var logged []string
	for _, l := range lines() {
		logged = append(logged, l.Message)
	}
	if got := strings.Join(logged, "|"); got != `text { a: [ 1, 2 ] } Response {}|formatted` {
		t.Errorf("logged: %s", got)
	}
}

// TestReplacedPromiseDoesNotBreakActs: a module brings a Promise of its own, as polyfills do.
func TestReplacedPromiseDoesNotBreakActs(t *testing.T) {
	e := start(t, `
		const Real = Promise;
		globalThis.Promise = class extends Real {};
		Real.prototype.then = Real.prototype.catch = Real.prototype.finally = () => { throw new Error("replaced") };`, nil)
	want(t, e, `return await new Response("x").text() + await (async () => "y")()`, `"xy"`)
	want(t, e, `await new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array([65])); c.close() } })).text(); return 1`, `1`)
}

// TestObjectPrototypeWithTraps: properties that everything inherits mislead neither options nor descriptors.
func TestObjectPrototypeWithTraps(t *testing.T) {
	e := start(t, `for (const k of ["get", "set", "value", "writable", "enumerable", "configurable", "held", "entire", "reader", "pull", "act", "id", "__svc"]) Object.defineProperty(Object.prototype, k, { __proto__: null, get() { return undefined }, set(v) { throw new Error("trap " + k) }, configurable: true });`, nil)
	want(t, e, `const r = new Response("x"), c = r.clone(); for await (const x of c.body); const u = new URL("http://h/?a=1"); u.searchParams.set("b", "2"); setTimeout(() => {}, 1); console.log({ a: 1 }); return [await r.text(), u.href, structuredClone({ a: 1 }).a]`, `["x","http://h/?a=1&b=2",1]`)
}
