// Bytes and text. Long work is Go's; bytes cross as base64, which the engine writes and reads by itself.
const bytesOf = (v) => {
  if (isView(v))
    return typedName(v) === "Uint8Array"
      ? v
      : typedName(v) === undefined
        ? new Uint8Array(viewBuffer(v), viewOffset(v), viewBytes(v))
        : new Uint8Array(typedBuffer(v), typedOffset(v), typedBytes(v));
  if (isBuffer(v)) return new Uint8Array(v);
  throw new TypeError("Bytes are an ArrayBuffer or a view of one");
};
const isBuffer = (v) => isObject(v) && accepts(bufferBytes, v);
const isBytes = (v) => isView(v) || isBuffer(v);
const copyOf = (v) => typedSlice(bytesOf(v));
const utf8 = (s) => {
  const n = s.length;
  if (n > 32) return fromBase64(sync("utf8", s));
  const out = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const c = charCodeAt(s, i);
    if (c > 127) return fromBase64(sync("utf8", s));
    out[i] = c;
  }
  return out;
};
const textOf = (bytes) => (bytes.length === 0 ? "" : strSlice(sync("text", toBase64(bytes), false, false), 1));
const withoutMark = (s) => (charCodeAt(s, 0) === 0xfeff ? strSlice(s, 1) : s);
const latin1 = (bytes) => {
  const parts = [];
  for (let i = 0; i < bytes.length; i += 4096) push(parts, apply(fromCharCode, undefined, typedSub(bytes, i, i + 4096)));
  return join(parts, "");
};

class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(s = "") {
    return utf8(String(s));
  }
  encodeInto(s, into) {
    s = String(s);
    if (typedName(into) !== "Uint8Array") throw new TypeError("encodeInto needs a Uint8Array");
    let read = 0,
      written = 0;
    const room = typedLength(into);
    while (read < s.length) {
      const c = charCodeAt(s, read),
        pair = c >= 0xd800 && c <= 0xdbff && read + 1 < s.length && (charCodeAt(s, read + 1) & 0xfc00) === 0xdc00;
      const code = pair ? 0x10000 + ((c - 0xd800) << 10) + charCodeAt(s, read + 1) - 0xdc00 : c >= 0xd800 && c <= 0xdfff ? 0xfffd : c;
      const need = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (written + need > room) break;
      if (need === 1) into[written] = code;
      else {
        into[written] = (need === 2 ? 0xc0 : need === 3 ? 0xe0 : 0xf0) | (code >> (6 * (need - 1)));
        for (let i = 1; i < need; i++) into[written + i] = 0x80 | ((code >> (6 * (need - 1 - i))) & 63);
      }
      written += need;
      read += pair ? 2 : 1;
    }
    return { read, written };
  }
}
tag(TextEncoder, "TextEncoder");

const encodings = { __proto__: null };
each(["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"], (l) => {
  encodings[l] = "utf-8";
});
each(["utf-16", "utf-16le", "ucs-2", "unicode", "csunicode", "iso-10646-ucs-2", "unicodefeff"], (l) => {
  encodings[l] = "utf-16le";
});
each(["utf-16be", "unicodefffe"], (l) => {
  encodings[l] = "utf-16be";
});
each(
  [
    "latin1",
    "iso-8859-1",
    "iso8859-1",
    "iso88591",
    "iso_8859-1",
    "ascii",
    "us-ascii",
    "l1",
    "windows-1252",
    "cp1252",
    "x-cp1252",
    "cp819",
    "ibm819",
    "ansi_x3.4-1968",
    "csisolatin1",
    "iso-ir-100",
    "iso_8859-1:1987",
  ],
  (l) => {
    encodings[l] = "windows-1252";
  },
);
const high1252 =
  "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";
const labelSpace = /^[\t\n\f\r ]*([^]*?)[\t\n\f\r ]*$/;
const joinBytes = (list) => {
  if (list.length === 1) return list[0];
  let n = 0;
  each(list, (b) => {
    n += b.length;
  });
  const out = new Uint8Array(n);
  let at = 0;
  each(list, (b) => {
    typedSet(out, b, at);
    at += b.length;
  });
  return out;
};
class TextDecoder {
  #encoding;
  #fatal;
  #keepMark;
  #rest = null;
  #begun = false;
  constructor(label = "utf-8", options) {
    const found = encodings[lowerCase(exec(labelSpace, String(label))[1])];
    if (found === undefined) throw new RangeError('The encoding "' + label + '" is not supported: utf-8, utf-16le, utf-16be and windows-1252 are');
    if (options !== undefined && options !== null && !isObject(options)) throw new TypeError("The options of a TextDecoder must be an object");
    this.#encoding = found;
    this.#fatal = !!options?.fatal;
    this.#keepMark = !!options?.ignoreBOM;
  }
  get encoding() {
    return this.#encoding;
  }
  get fatal() {
    return this.#fatal;
  }
  get ignoreBOM() {
    return this.#keepMark;
  }
  decode(input, options) {
    const stream = !!options?.stream;
    let b = input === undefined ? new Uint8Array(0) : bytesOf(input);
    if (this.#rest !== null) {
      b = joinBytes([this.#rest, b]);
      this.#rest = null;
    }
    let s;
    try {
      s = this.#encoding === "utf-8" ? this.#utf8(b, stream) : this.#encoding === "windows-1252" ? this.#single(b) : this.#utf16(b, stream);
    } catch (e) {
      this.#begun = false;
      throw e;
    }
    if (!this.#begun && s !== "" && !this.#keepMark && this.#encoding !== "windows-1252") s = withoutMark(s);
    // The mark may only stand before the first character.
    if (b.length - (this.#rest?.length ?? 0) > 0) this.#begun = true;
    if (!stream) {
      this.#begun = false;
      this.#rest = null;
    }
    return s;
  }
  #utf8(b, stream) {
    if (b.length === 0) return "";
    const r = sync("text", toBase64(b), this.#fatal, stream);
    if (r === null) throw invalidText(this.#encoding);
    const rest = charCodeAt(r, 0) - 48;
    if (rest > 0) this.#rest = typedSlice(b, b.length - rest);
    return strSlice(r, 1);
  }
  #single(b) {
    let s = latin1(b);
    let high = false;
    for (let i = 0; i < b.length && !high; i++) high = b[i] >= 0x80 && b[i] < 0xa0;
    if (!high) return s;
    const parts = [];
    for (let i = 0; i < s.length; i++) {
      const c = charCodeAt(s, i);
      push(parts, c >= 0x80 && c < 0xa0 ? high1252[c - 0x80] : s[i]);
    }
    return join(parts, "");
  }
  #utf16(b, stream) {
    const parts = [],
      big = this.#encoding === "utf-16be",
      whole = b.length & ~1;
    let end = whole;
    const at = (i) => (big ? (b[i] << 8) | b[i + 1] : b[i] | (b[i + 1] << 8));
    if (stream && end >= 2 && (at(end - 2) & 0xfc00) === 0xd800) end -= 2;
    for (let i = 0; i < end; i += 2) {
      const c = at(i);
      if ((c & 0xfc00) === 0xd800 && i + 2 < whole && (at(i + 2) & 0xfc00) === 0xdc00) {
        push(parts, fromCharCode(c, at(i + 2)));
        i += 2;
        continue;
      }
      if (c >= 0xd800 && c <= 0xdfff) {
        if (this.#fatal) throw invalidText(this.#encoding);
        push(parts, "\ufffd");
        continue;
      }
      push(parts, fromCharCode(c));
    }
    if (end < b.length) {
      if (stream) this.#rest = typedSlice(b, end);
      else {
        if (this.#fatal) throw invalidText(this.#encoding);
        push(parts, "\ufffd");
      }
    }
    return join(parts, "");
  }
}
tag(TextDecoder, "TextDecoder");
const invalidText = (encoding) => {
  const e = new TypeError("The encoded data was not valid for encoding " + encoding);
  e.code = "ERR_ENCODING_INVALID_ENCODED_DATA";
  return e;
};

const btoa = function btoa(s) {
  if (arguments.length === 0) throw new TypeError("btoa needs a string");
  s = String(s);
  const b = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) {
    const c = charCodeAt(s, i);
    if (c > 255) throw domError("Invalid character", "InvalidCharacterError");
    b[i] = c;
  }
  return toBase64(b);
};
const base64Space = /[\t\n\f\r ]/,
  notBase64 = /[^A-Za-z0-9+/]/;
const atob = function atob(s) {
  if (arguments.length === 0) throw new TypeError("atob needs a string");
  s = mapChars(String(s), base64Space, (c) => (test(base64Space, c) ? "" : c));
  if (s.length % 4 === 0) {
    if (strSlice(s, -2) === "==") s = strSlice(s, 0, -2);
    else if (strSlice(s, -1) === "=") s = strSlice(s, 0, -1);
  }
  if (s.length % 4 === 1 || test(notBase64, s)) throw domError("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  return latin1(fromBase64(s));
};
offer({ TextEncoder, TextDecoder, atob, btoa });
