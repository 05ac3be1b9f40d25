// URL and URLSearchParams. Parsing addresses is Go's.
const unform = (s) => {
  if (indexOf(s, "+") >= 0) s = join(split(s, "+"), " ");
  if (indexOf(s, "%") < 0) return s;
  try {
    return decodeURIComponent(s);
  } catch {
    return textOf(percentDecoded(s));
  }
};
const hexPair = /^[0-9A-Fa-f]{2}$/;
const percentDecoded = (s) => {
  const b = utf8(s),
    out = new Uint8Array(b.length);
  let n = 0;
  for (let i = 0; i < b.length; i++) {
    const pair = b[i] === 37 && i + 2 < b.length ? fromCharCode(b[i + 1], b[i + 2]) : "";
    if (pair !== "" && test(hexPair, pair)) {
      out[n++] = Number("0x" + pair);
      i += 2;
    } else out[n++] = b[i];
  }
  return typedSub(out, 0, n);
};
const formSpecial = /[!'()~]/;
const form = (s) => {
  const t = mapChars(encodeURIComponent(toWellFormed(s)), formSpecial, (c) =>
    test(formSpecial, c) ? "%" + upperCase(numberToString(charCodeAt(c, 0), 16)) : c,
  );
  return indexOf(t, "%20") < 0 ? t : join(split(t, "%20"), "+");
};
const scalar = (v) => toWellFormed(String(v));

// listIterator makes iterators over pairs that live in the prelude: `at(i)` is the i-th pair or undefined.
const listIterator = (name) => {
  const proto = create(iteratorProto),
    states = new WeakMap();
  hidden(proto, "next", function next() {
    const st = weakGet(states, this);
    if (st === undefined) throw new TypeError("not a " + name + " Iterator");
    const pair = st.at(st.i);
    if (pair === undefined) return { value: undefined, done: true };
    st.i++;
    return { value: st.kind === 0 ? pair[0] : st.kind === 1 ? pair[1] : [pair[0], pair[1]], done: false };
  });
  defineProperty(proto, symTag, { __proto__: null, value: name + " Iterator", configurable: true });
  return (at, kind) => {
    const it = create(proto);
    weakSet(states, it, { __proto__: null, at, i: 0, kind });
    return it;
  };
};
// pairsOf reads what constructors take, a sequence of pairs or a record, and adds each pair to what is made; text is how names and values are read.
const pairsOf = (made, init, what, text, add) => {
  const method = init[symIterator];
  if (method !== undefined && method !== null) {
    if (typeof method !== "function") throw new TypeError(what + " is not iterable");
    each(sequence(init), (pair) => {
      if (!isObject(pair) || typeof pair[symIterator] !== "function") throw new TypeError("Each pair of " + what + " must be iterable");
      const list = sequence(pair);
      if (list.length !== 2) throw new TypeError("Each pair of " + what + " must be a name and a value");
      add(made, text(list[0]), text(list[1]));
    });
    return;
  }
  const names = ownKeys(init);
  for (let i = 0; i < names.length; i++) {
    const k = names[i];
    if (!isEnumerable(init, k)) continue;
    if (typeof k === "symbol") throw new TypeError("A symbol is not a name");
    add(made, text(k), text(init[k]));
  }
};

const paramsIterator = listIterator("URLSearchParams");
let parseParams, paramsFor;
class URLSearchParams {
  #list = [];
  #changed = null;
  static {
    parseParams = (p, s) => {
      p.#list = parsedForm(s);
    };
    paramsFor = (s, changed) => {
      const p = new URLSearchParams();
      p.#list = parsedForm(s);
      p.#changed = changed;
      return p;
    };
  }
  constructor(init) {
    if (init === undefined) return;
    if (isObject(init)) {
      pairsOf(this.#list, init, "the query", scalar, (list, k, v) => push(list, [k, v]));
    } else {
      const s = scalar(init);
      this.#list = parsedForm(s[0] === "?" ? strSlice(s, 1) : s);
    }
  }
  #tell() {
    if (this.#changed !== null) this.#changed(this.toString());
  }
  get size() {
    return this.#list.length;
  }
  append(k, v) {
    need(arguments, 2);
    push(this.#list, [scalar(k), scalar(v)]);
    this.#tell();
  }
  delete(k, v) {
    need(arguments, 1);
    k = scalar(k);
    const any = v === undefined;
    if (!any) v = scalar(v);
    this.#list = filtered(this.#list, (p) => p[0] !== k || !(any || p[1] === v));
    this.#tell();
  }
  get(k) {
    need(arguments, 1);
    k = scalar(k);
    const l = this.#list;
    for (let i = 0; i < l.length; i++) if (l[i][0] === k) return l[i][1];
    return null;
  }
  getAll(k) {
    need(arguments, 1);
    k = scalar(k);
    return mapped(
      filtered(this.#list, (p) => p[0] === k),
      (p) => p[1],
    );
  }
  has(k, v) {
    need(arguments, 1);
    k = scalar(k);
    if (v !== undefined) v = scalar(v);
    const l = this.#list;
    for (let i = 0; i < l.length; i++) if (l[i][0] === k && (v === undefined || l[i][1] === v)) return true;
    return false;
  }
  set(k, v) {
    need(arguments, 2);
    k = scalar(k);
    v = scalar(v);
    let found = false;
    this.#list = filtered(this.#list, (p) => {
      if (p[0] !== k) return true;
      if (found) return false;
      found = true;
      p[1] = v;
      return true;
    });
    if (!found) push(this.#list, [k, v]);
    this.#tell();
  }
  sort() {
    const l = mapped(this.#list, (p, i) => [p[0], p[1], i]);
    sortArray(l, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[2] - b[2]));
    this.#list = mapped(l, (p) => [p[0], p[1]]);
    this.#tell();
  }
  forEach(fn, self) {
    if (typeof fn !== "function") throw new TypeError("forEach needs a function");
    for (let i = 0; i < this.#list.length; i++) apply(fn, self, [this.#list[i][1], this.#list[i][0], this]);
  }
  entries() {
    return paramsIterator((i) => this.#list[i], 2);
  }
  keys() {
    return paramsIterator((i) => this.#list[i], 0);
  }
  values() {
    return paramsIterator((i) => this.#list[i], 1);
  }
  toString() {
    return join(
      mapped(this.#list, (p) => form(p[0]) + "=" + form(p[1])),
      "&",
    );
  }
}
hidden(URLSearchParams.prototype, symIterator, URLSearchParams.prototype.entries);
tag(URLSearchParams, "URLSearchParams");
const parsedForm = (s) => {
  const list = [],
    n = s.length;
  for (let from = 0; from < n;) {
    let to = indexOf(s, "&", from);
    if (to < 0) to = n;
    if (to > from) {
      const pair = strSlice(s, from, to),
        eq = indexOf(pair, "=");
      push(list, [unform(eq < 0 ? pair : strSlice(pair, 0, eq)), eq < 0 ? "" : unform(strSlice(pair, eq + 1))]);
    }
    from = to + 1;
  }
  return list;
};
const need = (args, n) => {
  if (args.length < n)
    throw new TypeError(n + " argument" + (n > 1 ? "s are" : " is") + " needed, and there " + (args.length === 1 ? "is" : "are") + " " + args.length);
};

const invalidURL = (input) => {
  const e = new TypeError("Invalid URL");
  e.code = "ERR_INVALID_URL";
  e.input = input;
  return e;
};
// addressParts are href, protocol, username, password, host, hostname, port, pathname, search, hash, origin.
const addressParts = (url, base) => {
  const r = sync("url", url, base ?? null);
  return r === null ? null : split(r, "\n");
};
let isURL, urlFrom;
class URL {
  #p;
  #params = null;
  static {
    isURL = (v) => isObject(v) && #p in v;
    urlFrom = (parts) => new URL(theKey, parts);
  }
  constructor(url, base) {
    if (url === theKey) {
      this.#p = base;
      return;
    }
    need(arguments, 1);
    url = scalar(url);
    const parts = addressParts(url, base === undefined ? undefined : scalar(base));
    if (parts === null) throw invalidURL(url);
    this.#p = parts;
  }
  #set(name, value) {
    const r = sync("urlset", this.#p[0], name, scalar(value));
    if (r === null) return;
    this.#p = split(r, "\n");
    if (name === "search") this.#refresh();
  }
  #refresh() {
    if (this.#params !== null) parseParams(this.#params, strSlice(this.#p[8], 1));
  }
  get href() {
    return this.#p[0];
  }
  set href(v) {
    v = scalar(v);
    const parts = addressParts(v);
    if (parts === null) throw invalidURL(v);
    this.#p = parts;
    this.#refresh();
  }
  get origin() {
    return this.#p[10];
  }
  get protocol() {
    return this.#p[1];
  }
  set protocol(v) {
    this.#set("protocol", v);
  }
  get username() {
    return this.#p[2];
  }
  set username(v) {
    this.#set("username", v);
  }
  get password() {
    return this.#p[3];
  }
  set password(v) {
    this.#set("password", v);
  }
  get host() {
    return this.#p[4];
  }
  set host(v) {
    this.#set("host", v);
  }
  get hostname() {
    return this.#p[5];
  }
  set hostname(v) {
    this.#set("hostname", v);
  }
  get port() {
    return this.#p[6];
  }
  set port(v) {
    this.#set("port", v);
  }
  get pathname() {
    return this.#p[7];
  }
  set pathname(v) {
    this.#set("pathname", v);
  }
  get search() {
    return this.#p[8];
  }
  set search(v) {
    this.#set("search", v);
  }
  get hash() {
    return this.#p[9];
  }
  set hash(v) {
    this.#set("hash", v);
  }
  get searchParams() {
    return (this.#params ??= paramsFor(strSlice(this.#p[8], 1), (s) => {
      const r = sync("urlset", this.#p[0], "search", s);
      if (r !== null) this.#p = split(r, "\n");
    }));
  }
  toString() {
    return this.#p[0];
  }
  toJSON() {
    return this.#p[0];
  }
  static canParse(url, base) {
    need(arguments, 1);
    return addressParts(scalar(url), base === undefined ? undefined : scalar(base)) !== null;
  }
  static parse(url, base) {
    need(arguments, 1);
    const parts = addressParts(scalar(url), base === undefined ? undefined : scalar(base));
    return parts === null ? null : urlFrom(parts);
  }
  static createObjectURL() {
    throw unsupported("URL.createObjectURL", "send the bytes themselves");
  }
  static revokeObjectURL() {}
}
tag(URL, "URL");
push(platform, (v) => isURL(v) || v instanceof URLSearchParams);
offer({ URL, URLSearchParams });
