// Blob, File and FormData. Their bytes are in the engine's memory.
const blobType = (v) => {
  if (v === undefined) return "";
  v = String(v);
  return test(/[^\x20-\x7e]/, v) ? "" : lowerCase(v);
};
let blobBytes, typeOfBlob, isBlob, blobOf;
class Blob {
  #b;
  #t;
  static {
    isBlob = (v) => isObject(v) && #b in v;
    blobBytes = (v) => v.#b;
    typeOfBlob = (v) => v.#t;
    blobOf = (bytes, type) => {
      const b = new Blob();
      b.#b = bytes;
      b.#t = type;
      return b;
    };
  }
  constructor(parts, options) {
    const all = [];
    if (options !== undefined && options !== null && !isObject(options)) throw new TypeError("The options of a blob must be an object");
    const endings = options?.endings === undefined ? "transparent" : String(options.endings);
    if (endings !== "transparent" && endings !== "native") throw new TypeError(endings + " is not a way to write line endings");
    if (parts !== undefined) {
      if (!isObject(parts) || typeof parts[symIterator] !== "function") throw new TypeError("The parts of a blob must be a sequence");
      each(sequence(parts), (p) =>
        push(all, isBlob(p) ? p.#b : isBytes(p) ? copyOf(p) : utf8(endings === "native" ? nativeEndings(String(p)) : String(p))),
      );
    }
    this.#b = all.length === 0 ? new Uint8Array(0) : joinBytes(all);
    this.#t = blobType(options?.type);
  }
  get size() {
    return this.#b.length;
  }
  get type() {
    return this.#t;
  }
  async text() {
    return withoutMark(textOf(this.#b));
  }
  async arrayBuffer() {
    return typedBuffer(typedSlice(this.#b));
  }
  async bytes() {
    return typedSlice(this.#b);
  }
  slice(from = 0, to = this.#b.length, type) {
    return blobOf(typedSlice(this.#b, clamped(from), clamped(to)), blobType(type));
  }
  stream() {
    return streamOf(this.#b).shell;
  }
}
const lineEnd = /[\r\n]/;
const nativeEndings = (s) => mapChars(s, lineEnd, (c, next) => (c === "\r" ? (next === "\n" ? "" : "\n") : c));
const clamped = (n) => {
  n = Number(n);
  return isNaN(n) ? 0 : max(-9007199254740991, min(9007199254740991, trunc(n)));
};
tag(Blob, "Blob");
let isFile;
class File extends Blob {
  #name;
  #at;
  static {
    isFile = (v) => isObject(v) && #name in v;
  }
  constructor(parts, name, options) {
    need(arguments, 2);
    super(parts, options);
    this.#name = scalar(name);
    this.#at = options?.lastModified === undefined ? clock() : trunc(Number(options.lastModified)) || 0;
  }
  get name() {
    return this.#name;
  }
  get lastModified() {
    return this.#at;
  }
  get webkitRelativePath() {
    return "";
  }
}
tag(File, "File");
cloneBlob = (v) =>
  isFile(v) ? new File([v], v.name, { type: typeOfBlob(v), lastModified: v.lastModified }) : isBlob(v) ? blobOf(blobBytes(v), typeOfBlob(v)) : undefined;

const formIterator = listIterator("FormData");
let formList, isForm;
class FormData {
  #l = [];
  static {
    formList = (f) => f.#l;
    isForm = (v) => isObject(v) && #l in v;
  }
  constructor(from) {
    if (from !== undefined) throw new TypeError("A FormData is not made from a form here");
  }
  append(k, v, name) {
    need(arguments, 2);
    push(this.#l, [scalar(k), entryOf(v, name, arguments.length > 2)]);
  }
  set(k, v, name) {
    need(arguments, 2);
    k = scalar(k);
    const entry = entryOf(v, name, arguments.length > 2);
    let found = false;
    this.#l = filtered(this.#l, (p) => {
      if (p[0] !== k) return true;
      if (found) return false;
      found = true;
      p[1] = entry;
      return true;
    });
    if (!found) push(this.#l, [k, entry]);
  }
  delete(k) {
    need(arguments, 1);
    k = scalar(k);
    this.#l = filtered(this.#l, (p) => p[0] !== k);
  }
  get(k) {
    need(arguments, 1);
    k = scalar(k);
    for (let i = 0; i < this.#l.length; i++) if (this.#l[i][0] === k) return this.#l[i][1];
    return null;
  }
  getAll(k) {
    need(arguments, 1);
    k = scalar(k);
    return mapped(
      filtered(this.#l, (p) => p[0] === k),
      (p) => p[1],
    );
  }
  has(k) {
    need(arguments, 1);
    k = scalar(k);
    for (let i = 0; i < this.#l.length; i++) if (this.#l[i][0] === k) return true;
    return false;
  }
  forEach(fn, self) {
    if (typeof fn !== "function") throw new TypeError("forEach needs a function");
    for (let i = 0; i < this.#l.length; i++) apply(fn, self, [this.#l[i][1], this.#l[i][0], this]);
  }
  entries() {
    return formIterator((i) => this.#l[i], 2);
  }
  keys() {
    return formIterator((i) => this.#l[i], 0);
  }
  values() {
    return formIterator((i) => this.#l[i], 1);
  }
}
hidden(FormData.prototype, symIterator, FormData.prototype.entries);
tag(FormData, "FormData");
const entryOf = (v, name, named) => {
  if (!isBlob(v)) {
    if (named) throw new TypeError("Only a Blob has a file name");
    return scalar(v);
  }
  if (isFile(v) && !named) return v;
  return new File([v], named ? scalar(name) : "blob", { type: typeOfBlob(v), lastModified: isFile(v) ? v.lastModified : clock() });
};
const formEscape = (s) => mapChars(s, /[\r\n"]/, (c) => (c === "\n" ? "%0A" : c === "\r" ? "%0D" : c === '"' ? "%22" : c));
const crlf = (s) => mapChars(s, lineEnd, (c, next, before) => (c === "\r" ? "\r\n" : c === "\n" ? (before === "\r" ? "" : "\r\n") : c));
const fieldName = (s) => formEscape(crlf(s));
const writeForm = (f) => {
  const boundary = "----formdata-" + toHex(entropy(12)),
    parts = [];
  each(formList(f), (p) => {
    const head = "--" + boundary + '\r\nContent-Disposition: form-data; name="' + fieldName(p[0]) + '"';
    if (typeof p[1] === "string") {
      push(parts, utf8(head + "\r\n\r\n" + crlf(p[1]) + "\r\n"));
      return;
    }
    push(parts, utf8(head + '; filename="' + formEscape(p[1].name) + '"\r\nContent-Type: ' + (typeOfBlob(p[1]) || "application/octet-stream") + "\r\n\r\n"));
    push(parts, blobBytes(p[1]));
    push(parts, utf8("\r\n"));
  });
  push(parts, utf8("--" + boundary + "--\r\n"));
  return [joinBytes(parts), "multipart/form-data; boundary=" + boundary];
};
const readForm = (type, bytes) => {
  const f = new FormData(),
    list = jsonParse(sync("form", type, toBase64(bytes)));
  each(list, (p) => push(formList(f), [p.name, p.file === undefined ? p.value : new File([fromBase64(p.value)], p.file, { type: p.type })]));
  return f;
};
push(platform, isForm);
offer({ Blob, File, FormData });
