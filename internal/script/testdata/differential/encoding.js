const enc = new TextEncoder();
for (const s of ["", "abc", "é", "日本語", "😀", "a\0b", "\ud800", "\udc00x", "x\ud83d", "\udc00\ud800", "\ufeffx", "\u07ff\u0800\uffff", "x".repeat(100), "é".repeat(50), "\ud800".repeat(40)]) { await check(`encode ${JSON.stringify(s).slice(0, 40)}`, () => enc.encode(s)); await check(`encode and back ${JSON.stringify(s).slice(0, 40)}`, () => new TextDecoder().decode(enc.encode(s))); }
for (const v of [undefined, null, 5, {}, [1, 2], true]) await check(`encode(${told(v)})`, () => enc.encode(v));
await check("encode()", () => enc.encode());
for (const s of ["abc", "é€😀x", "\ud800x", "日本"]) for (let n = 0; n < 9; n++) await check(`encodeInto ${JSON.stringify(s)} ${n}`, () => { const b = new Uint8Array(n); return [enc.encodeInto(s, b), b]; });
await check("encodeInto an array", () => enc.encodeInto("x", []));
await check("encoding", () => [enc.encoding, new TextDecoder().encoding, new TextDecoder("UTF8").encoding, new TextDecoder("latin1").encoding, new TextDecoder("utf-16le").encoding, new TextDecoder("utf-16be").encoding, new TextDecoder("ascii").encoding, new TextDecoder(" utf-8\n").encoding]);
for (const l of ["utf-7", "", "x", "utf-8\0", "utf 8", "iso-8859-2", "shift_jis", "gb18030", "euc-kr", "windows-1251"]) await check(`label ${JSON.stringify(l)}`, () => new TextDecoder(l).encoding);
const bad = ["80", "c0", "c080", "c3", "e0", "e080", "e28282", "e282", "ed9fbf", "eda080", "edbfbf", "f0", "f090", "f09080", "f0908080", "f4908080", "f5", "fe", "ff", "fffe", "c341", "e24182", "f0414141", "efbbbf", "efbbbfefbbbf41", "41efbbbf", "efbb", "f09f9880", "f09f98", "e0a0", "ed80", "f4808080", "f48fbfbf", "c2c2", "e2e282ac", "61c3a962ff63"];
const ofHex = (h) => new Uint8Array((h.match(/../g) ?? []).map((x) => parseInt(x, 16)));
for (const h of bad) { await check(`decode ${h}`, () => new TextDecoder().decode(ofHex(h))); await check(`decode fatal ${h}`, () => new TextDecoder("utf-8", { fatal: true }).decode(ofHex(h))); await check(`decode ignoreBOM ${h}`, () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(ofHex(h))); await check(`decode piecewise ${h}`, () => { const d = new TextDecoder(), out = []; for (const b of ofHex(h)) out.push(d.decode(new Uint8Array([b]), { stream: true })); out.push(d.decode()); return out; }); await check(`decode windows-1252 ${h}`, () => new TextDecoder("windows-1252").decode(ofHex(h))); await check(`decode utf-16le ${h}`, () => new TextDecoder("utf-16le").decode(ofHex(h))); await check(`decode utf-16be ${h}`, () => new TextDecoder("utf-16be").decode(ofHex(h))); }
for (let i = 0; i < 120; i++) {
  const b = new Uint8Array(several(upTo(12), () => pick([0x41, 0x80, 0xbf, 0xc2, 0xc3, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xf0, 0x9f, 0x98, 0x80, 0xef, 0xbb, 0xff])));
  await check(`random ${hex(b)}`, () => { const d = new TextDecoder(), cut = b.length >> 1; return [new TextDecoder().decode(b), d.decode(b.subarray(0, cut), { stream: true }), d.decode(b.subarray(cut), { stream: true }), d.decode()]; });
}
for (let i = 0; i < 40; i++) { const b = bytes(upTo(12)); await check(`random utf-16 ${hex(b)}`, () => { const d = new TextDecoder("utf-16le"), cut = upTo(b.length + 1); return [new TextDecoder("utf-16le").decode(b), d.decode(b.subarray(0, cut), { stream: true }), d.decode(b.subarray(cut), { stream: true }), d.decode()]; }); }
await check("decode of kinds", () => { const b = enc.encode("héllo!é"), d = new TextDecoder(); return [d.decode(b.buffer), d.decode(new DataView(b.buffer, 1, 4)), d.decode(new Uint16Array(b.buffer.slice(0, 8))), d.decode(b.subarray(1, 3)), d.decode()]; });
for (const v of [null, 5, "x", {}, []]) await check(`decode(${told(v)})`, () => new TextDecoder().decode(v));
await check("decoder options", () => { const d = new TextDecoder("utf-8", { fatal: 1, ignoreBOM: "x" }); return [d.fatal, d.ignoreBOM]; });
await check("fatal then again", () => { const d = new TextDecoder("utf-8", { fatal: true }); try { d.decode(ofHex("ff")); } catch {} return d.decode(ofHex("41")); });
for (const s of ["", "a", "ab", "abc", "\0\xff", "é", "☃", "hello world", undefined, null, 12]) await check(`btoa ${told(s)}`, () => btoa(s));
for (const s of ["", "YQ==", "YQ", "YQ=", "YWI=", "YWI", "YWJj", " Y W J j\n", "Y", "YQ===", "=", "====", "YQ=Q", "Y*", "-_", "+/", "////", "é", "YWJj====", "Z", "ab\tcd", undefined, null, 12, "AB==", "ABC="]) await check(`atob ${told(s)}`, () => atob(s));
for (let i = 0; i < 120; i++) { const s = text("\0\x01AZaz09+/=\x7f\x80\xff ", 12); await check(`random btoa ${JSON.stringify(s)}`, () => [btoa(s), atob(btoa(s)) === s]); const t = text("AZaz09+/= \n-", 9); await check(`random atob ${JSON.stringify(t)}`, () => atob(t)); }
await check("atob of nothing", () => atob());
await check("btoa of nothing", () => btoa());
