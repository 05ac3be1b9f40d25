const all = (h) => [...h];
for (const init of [undefined, {}, [], { a: "1", B: "2", "x-y": "3" }, [["a", "1"], ["a", "2"], ["A", "3"]], new Headers({ q: "1" }), new Map([["m", "n"]]), { "set-cookie": "a=1" }, [["set-cookie", "a"], ["set-cookie", "b"], ["cookie", "c"], ["cookie", "d"]], null, 5, "x", [["a"]], [["a", "b", "c"]], { "bad name": "x" }, { "": "x" }, { a: "line\nend" }, { a: "é" }, { a: "☃" }, { a: "\0" }, { "é": "x" }, { a: undefined }, { a: null }, { a: 1 }, { a: {} }, { a: ["x", "y"] }, { a: "  pad\t" }, { a: "in  side" }, { a: "" }, { a: "   " }, { [Symbol.iterator]: undefined, z: "1" }]) await check(`new Headers(${told(init)})`, () => all(new Headers(init)));
for (const name of ["a", "A", "content-type", "Content-Type", "x_y", "a b", "", "é", "a:b", "a\n", "!#$%&'*+-.^_`|~", "(", ")", "<", "@", ",", ";", "\\", '"', "/", "[", "]", "?", "=", "{", "}", "\t", "0"]) for (const op of ["get", "has", "delete"]) await check(`${op}(${JSON.stringify(name)})`, () => { const h = new Headers({ a: "1", "content-type": "t", x_y: "2" }); return [h[op](name), all(h)]; });
for (const value of ["x", "", " ", "\t x \r\n", "a\rb", "a\nb", "a\0b", "é", "\u0100", "\x7f", "\x01", "a, b", undefined, null, 3, true]) for (const op of ["set", "append"]) await check(`${op}(a, ${told(value)})`, () => { const h = new Headers({ a: "1" }); h[op]("a", value); h[op]("B", value); return all(h); });
await check("order", () => all(new Headers([["z", "1"], ["a", "2"], ["set-cookie", "x"], ["m", "3"], ["Set-Cookie", "y"], ["A", "4"]])));
await check("getSetCookie", () => { const h = new Headers([["set-cookie", "a=1"], ["Set-Cookie", "b=2; Path=/"]]); const l = h.getSetCookie(); l.push("no"); return [h.getSetCookie(), h.get("set-cookie"), h.has("SET-COOKIE")]; });
await check("set over cookies", () => { const h = new Headers([["set-cookie", "a"], ["set-cookie", "b"]]); h.set("set-cookie", "c"); h.append("set-cookie", "d"); return [h.getSetCookie(), all(h)]; });
await check("iterators", () => { const h = new Headers({ b: "2", a: "1" }); return [[...h.keys()], [...h.values()], [...h.entries()], Object.prototype.toString.call(h.keys()), Object.prototype.toString.call(h)]; });
await check("forEach", () => { const out = []; new Headers({ b: "2", a: "1" }).forEach(function (v, k, h) { out.push(v, k, this.x, h.has("a")); }, { x: 1 }); return out; });
await check("forEach of nothing", () => new Headers().forEach());
await check("change while iterating", () => { const h = new Headers({ a: "1", b: "2", c: "3" }), out = []; for (const [k] of h) { out.push(k); h.delete("b"); } return out; });
await check("add while iterating", () => { const h = new Headers({ a: "1", c: "3" }), out = []; for (const [k] of h) { out.push(k); if (out.length === 1) h.set("b", "2"); } return out; });
await check("copy is its own", () => { const a = new Headers({ x: "1" }), b = new Headers(a); a.set("x", "2"); return [all(a), all(b)]; });
for (const op of ["append", "set", "get", "has", "delete"]) await check(`${op} without arguments`, () => new Headers()[op]());
await check("without new", () => Headers());
await check("next of nothing", () => new Headers().keys().next.call({}));
for (let i = 0; i < 150; i++) {
  const steps = several(8, () => [pick(["append", "set", "delete", "get", "has"]), pick(["a", "B", "set-cookie", "X-Y", "cookie", text("ab- ", 3)]), text("xy ,;é\t", 4)]);
  await check(`random ${told(steps)}`, () => { const h = new Headers(), out = []; for (const [op, k, v] of steps) { try { out.push(op === "append" || op === "set" ? h[op](k, v) : h[op](k)); } catch (e) { out.push(e.name); } } return [out, all(h), h.getSetCookie()]; });
}
for (let i = 0; i < 100; i++) {
  const begin = several(4, () => [pick(["a", "b", "set-cookie"]), text("xy", 2)]), steps = several(8, () => [pick([0, 1, 2]), pick(["append", "set", "delete", "get"]), pick(["a", "b", "set-cookie"]), text("xy", 2)]);
  await check(`copies are their own ${told([begin, steps])}`, () => {
    const one = new Headers(begin), all = [one, new Headers(one), new Response(null, { headers: one }).headers];
    for (const [which, op, k, v] of steps) op === "append" || op === "set" ? all[which][op](k, v) : all[which][op](k);
    return all.map((h) => [[...h], h.getSetCookie()]);
  });
}
await check("a copy of what cannot be changed can be", () => { const r = Response.redirect("http://a/b"), h = new Headers(r.headers); h.set("location", "c"); return [h.get("location"), r.headers.get("location")]; });
await check("a copy of a clone", () => { const r = new Response("x", { headers: { a: "1" } }), c = r.clone(); c.headers.set("a", "2"); r.headers.append("a", "3"); return [r.headers.get("a"), c.headers.get("a")]; });
