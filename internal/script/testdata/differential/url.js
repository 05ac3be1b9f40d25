const parts = (u) => ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"].map((k) => u[k]);
const addresses = `http://example.com
https://example.com:443/
http://example.com:80/a/b/../c/./d
HTTP://EXAMPLE.COM/%7Efoo
http://user:pass@host:8080/p?q#f
http://us%40er:pa%3Ass@host/
http://a@b@c/
http://[::1]/
http://[::1]:3000/x
http://[2001:db8::ff00:42:8329]/
http://[::ffff:1.2.3.4]/
http://[1:2:3:4:5:6:7:8]/
http://[1::8]/
http://[::1
http://[zz]/
http://127.0.0.1/
http://127.1/
http://0x7f.1/
http://2130706433/
http://0300.168.0.1/
http://256.1.1.1/
http://1.2.3.4.5/
http://1.2.3.09/
http://4294967296/
http://a.b.c.0x/
http://foo bar/
http://foo%20bar/
http://foo%41/
http://ho%73t/
http://xn--bcher-kva.example/
http://bücher.example/
http://BÜCHER.example/
http://日本語.jp/
http://☃.net/
http://a\u00adb/
http://ab\u200bc/
http://example.com./
http://example..com/
http://-a-.com/
http://a_b.com/
http://*.com/
http://%zz/
http:///x
http:/x
http:x
http:\\\\x\\y
https:/example.com/
http://host/ a b
http://host/a b?c d#e f
http://host/%
http://host/%2
http://host/%zz
http://host/?%zz
http://host/'"<>\`{}|\\^[]
http://host/?'"<>\`{}|\\^[]
http://host/#'"<>\`{}|\\^[]
http://host?x
http://host#x
http://host?#
http://host/?
http://host/#
http://host:/
http://host:0/
http://host:65535/
http://host:65536/
http://host:99999999/
http://host:a/
http://host:-1/
http://host:080/
http://host/a/%2e/b
http://host/a/%2e%2e/b
http://host/a/.%2e/b
http://host/../../x
http://host/a//b
http://host/a/..
http://host/.
http://host/;a=b
file:///etc/passwd
file://localhost/etc
file://host/share
file:///C:/x/../..
file:///C|/x
file:c:\\foo
file:/a
file:a
file://
file:///?q
mailto:a@b.c
mailto:a@b.c?subject=x y
data:text/plain,hello world
data:,%7B 
javascript:alert(1)
blob:https://a.b/uuid
blob:x
urn:isbn:0451450523
foo:bar
foo:/bar
foo://bar
foo://bar/baz/../x
foo://BAR/
foo://a b/
foo://%/
foo://[::1]/
foo:///x
foo:?q#h
non-special://user:pass@host:99/p
ws://host:80/
wss://host:443/x
ftp://host:21/
about:blank
//x
/x
?x
#x

   http://trim.me/  
ht\ntp://a\tb/c\rd
http://a/b?c=d&e=f
http://a/?é=ü
http://a/é
http://a/#é
http://a/\ud800x
http://a/?\ud800
http://user@/x
http://:pass@host/
http://user:@host/
http://@host/
http://host/%ff%fe
http://host\\path
http://host@evil.com/
http://1e3.com/
http://0/
http://00/
http://.0/
http://0./
http://1.0x/
1http://x/
h-t.p+1://x/
:x
http
http:
https://EXAMPLE.com:0443/./a/../%2E%2e/x?%20#%20
https://a.b/x?y=z&&a=b=c&=d&e
http://ex.com/foo%00%51
http://ex.com/(%28:%3A%29)
http://ﬀ.com/
http://１２７.0.0.1/
http://％４１.com/
http://faß.de/
http://\u212a.com/
http://a.\u3002b/`.split("\n").map((s) => s.replace(/\\u([0-9a-f]{4})/g, (_, h) => String.fromCharCode(parseInt(h, 16))).replace(/\\n/g, "\n").replace(/\\t/g, "\t").replace(/\\r/g, "\r").replace(/\\\\/g, "\\"));
for (const a of addresses) await check("parse " + JSON.stringify(a), () => parts(new URL(a)));
for (const a of addresses) await check("canParse " + JSON.stringify(a), () => URL.canParse(a));
const bases = ["http://h.x/a/b/c?q=1#f", "https://u:p@h.x:8080/", "file:///a/b", "file:///C:/a/b", "mailto:x@y", "foo://h/a/b", "foo:/a/b", "http://h.x"];
const relative = ["", "x", "./x", "../x", "../../../x", "/x", "//y/z", "///y", "?n", "#n", "?", "#", "x?y#z", "http:x", "https:x", "http:/x", "\\x", "\\\\y\\z", ".", "..", "a/./b/../c", "%2e%2e/x", "C:/y", "C|/y", "/C:/y", "x:y", "  x  ", "//", "a b", ";p", "g;x=1/../y", "mailto:a", "//h:99999/"];
for (const b of bases) for (const r of relative) await check(`resolve ${JSON.stringify(r)} on ${b}`, () => new URL(r, b).href);
const settings = [["protocol", ["https", "https:", "ftp", "file", "foo", "1x", "", "ws:x", "HTTP"]], ["username", ["", "me", "a:b@c/d", "é", "%41"]], ["password", ["", "x", "a:b@", "☃"]], ["host", ["y", "y:1", "y:80", "", "a b", "y/z", "[::2]:9", "1.2.3", "y:x", "y?z", "é.com"]], ["hostname", ["y", "y:1", "", "a b", "[::3]", "0x10", "y#z"]], ["port", ["", "1", "80", "443", "65536", "x", "8a", "-1", " 9", "08"]], ["pathname", ["", "x", "/x/../y", "a b?c#d", "\\x", "é", "%2e", "//y"]], ["search", ["", "?", "x", "?x", "a b", "#", "é'\"", "?a?b"]], ["hash", ["", "#", "x", "#x", "a b", "é`", "##"]], ["href", ["http://new/", "x", ""]]];
for (const start of ["http://h.x:81/p?q#f", "file:///p", "mailto:a@b", "foo://h/p", "https://u:p@h/"]) for (const [name, values] of settings) for (const v of values) await check(`${start} .${name} = ${JSON.stringify(v)}`, () => { const u = new URL(start); u[name] = v; return [u.href, u[name]]; });
for (let i = 0; i < 200; i++) {
  const a = pick(["http", "https", "foo", "file", "ws", ""]) + pick([":", "://", ":/", ":///"]) + text("ab.@:[]12%xé\\ ", 8) + pick(["", "/", ":80/"]) + text("ab/.%2e? #&=é+", 12);
  await check(`random ${JSON.stringify(a)}`, () => parts(new URL(a)));
}
for (let i = 0; i < 80; i++) { const r = text("ab/.?#:%2e\\é ", 10); await check(`random relative ${JSON.stringify(r)}`, () => new URL(r, "http://h.x/a/b?c#d").href); }
for (let i = 0; i < 80; i++) { const [name] = pick(settings), v = text("ab:/.?#@[]1%é ", 6); await check(`random .${name} = ${JSON.stringify(v)}`, () => { const u = new URL("http://u:p@h.x:81/a/b?c=d#e"); u[name] = v; return u.href; }); }

for (const q of ["", "?", "a=b", "?a=b&c=d", "a", "=", "&&", "a=b=c", "a+b=c+d", "%41=%42", "%zz=%", "%e4%bd%a0=%ff", "é=ü", "a=1&a=2&b=3", "a%26b=c", "\ud800=x", "%00", "a=b&", "??a"]) await check(`query ${JSON.stringify(q)}`, () => { const p = new URLSearchParams(q); return [[...p], p.toString(), p.size]; });
for (const init of [{ a: 1, b: "x y" }, [["a", "b"], ["a", "c"]], new Map([["x", "y"]]), new URLSearchParams("q=1"), [["a"]], [["a", "b", "c"]], ["ab"], [1], null, undefined, 5, {}, [], { [Symbol.iterator]: 3 }, "?x=1"]) await check(`query of ${told(init)}`, () => new URLSearchParams(init).toString());
for (let i = 0; i < 120; i++) { const q = text("ab=&+%41é ;?#~!'()*-._", 14); await check(`random query ${JSON.stringify(q)}`, () => { const p = new URLSearchParams(q); return [[...p], p.toString()]; }); }
for (let i = 0; i < 60; i++) {
  const steps = several(6, () => [pick(["append", "delete", "set", "sort", "has", "get", "getAll", "delete2", "has2"]), text("ab", 1), text("xy&= é", 2)]);
  await check(`random changes ${told(steps)}`, () => {
    const u = new URL("http://h/?a=1&b=2&a=3"), p = u.searchParams, out = [];
    for (const [op, k, v] of steps) out.push(op === "sort" ? p.sort() : op === "delete2" ? p.delete(k, v) : op === "has2" ? p.has(k, v) : op === "append" || op === "set" ? p[op](k, v) : p[op](k));
    return [out, u.href, p.size];
  });
}
await check("search changes params", () => { const u = new URL("http://h/?a=1"), p = u.searchParams; u.search = "?b=2"; const x = p.toString(); u.href = "http://h/?c=3"; return [x, p.toString(), u.searchParams === p]; });
await check("params iterate live", () => { const p = new URLSearchParams("a=1&b=2"), out = []; for (const [k] of p) { out.push(k); if (out.length < 4) p.append("x" + out.length, ""); } return out; });
await check("forEach", () => { const out = []; new URLSearchParams("a=1&b=2").forEach(function (v, k, p) { out.push(v, k, this.t, p.size); }, { t: 9 }); return out; });
for (const k of ["append", "delete", "get", "getAll", "has", "set"]) await check(`params.${k} without arguments`, () => new URLSearchParams()[k]());
await check("tags", () => [String(new URLSearchParams("a=b")), Object.prototype.toString.call(new URL("http://x")), Object.prototype.toString.call(new URLSearchParams()), Object.prototype.toString.call(new URLSearchParams().keys()), JSON.stringify(new URL("http://x/y")), new URL("http://x") + ""]);
for (const f of [() => new URL(), () => URL("http://x"), () => URLSearchParams(), () => new URL("x"), () => new URL("http://x", "bad"), () => URL.parse("x"), () => URL.parse("/y", "http://x").href]) await check(`call ${f}`, f);
