// Headers. Those that come from Go stay one string until somebody looks, and a copy shares its map until one of both is changed.
const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,
  edgeSpace = /^[\t\n\r ]*([^]*?)[\t\n\r ]*$/,
  badValue = /[\0\r\n]|[^\0-\xff]/;
// Names that were seen, as they were written: most programs use few, again and again.
const seenNames = new Table(),
  mostSeen = 256,
  longestSeen = 64;
const headerName = (k) => {
  k = String(k);
  const seen = seenNames.get(k);
  if (seen !== undefined) return seen;
  if (!test(tokenPattern, k)) throw new TypeError("Header name " + jsonStringify(k) + " is not valid");
  const name = lowerCase(k);
  if (k.length <= longestSeen && mapSize(seenNames) < mostSeen) seenNames.set(k, name);
  return name;
};
// Values likewise.
const seenValues = new Table();
const headerValue = (v) => {
  v = String(v);
  const seen = seenValues.get(v);
  if (seen !== undefined) return seen;
  const value = checkedValue(v);
  if (v.length <= longestSeen && mapSize(seenValues) < mostSeen) seenValues.set(v, value);
  return value;
};
const checkedValue = (v) => {
  const first = charCodeAt(v, 0),
    last = charCodeAt(v, v.length - 1);
  if (first <= 32 || last <= 32) v = exec(edgeSpace, v)[1];
  if (test(badValue, v)) throw new TypeError("Header value " + jsonStringify(v.length > 100 ? strSlice(v, 0, 100) : v) + " is not valid");
  return v;
};
const headerPair = (h, k, v) => addHeader(h, headerName(k), headerValue(v));
const headersIterator = listIterator("Headers");
// ragged tells that some headers have a value with a space at its end, since a value of theirs was empty: what is made of those has none.
let ragged = false;
let flatHeaders, headersFrom, copyHeaders, isHeaders, guardHeaders, mergeHeaders, addHeader, defaultHeader;
class Headers {
  #raw = null;
  #map = null;
  #guard = "none";
  #sorted = null;
  static {
    isHeaders = (v) => typeof v === "object" && v !== null && #raw in v;
    headersFrom = (flat) => {
      const h = new Headers(theKey);
      h.#raw = flat;
      return h;
    };
    copyHeaders = (h) => {
      const out = new Headers(theKey);
      out.#share(h);
      return out;
    };
    // mergeHeaders gives headers those of others, which replace what has their names; cookies are added, and a length is that of the others.
    mergeHeaders = (h, others) => {
      if (mapSize(h.#m) === 0) return others;
      h.#change();
      const to = h.#m;
      mapDelete(to, "content-length");
      mapEach(others.#m, (v, k) => {
        if (typeof v === "string") mapSet(to, k, v);
        else each(v, (one) => h.#add(k, one));
      });
      return h;
    };
    addHeader = (h, k, v) => h.#add(k, v);
    // defaultHeader is one that is not there yet, of a name and a value that need no look.
    defaultHeader = (h, k, v) => {
      if (mapHas(h.#m, k)) return;
      h.#change();
      mapSet(h.#map, k, v);
    };
    guardHeaders = (h, guard) => {
      h.#guard = guard;
      return h;
    };
    // flatHeaders is how headers cross to Go: names and values, a line each.
    flatHeaders = (h) => {
      if (h.#map === null) return h.#raw;
      const parts = [];
      mapEach(h.#map, (v, k) => {
        if (typeof v === "string") {
          push(parts, k);
          push(parts, v);
        } else
          each(v, (one) => {
            push(parts, k);
            push(parts, one);
          });
      });
      return join(parts, "\n");
    };
  }
  constructor(init) {
    if (init === theKey) return;
    if (isHeaders(init) && init[symIterator] === headersEntries) {
      if (ragged) this.#trim(init);
      else this.#share(init);
      return;
    }
    this.#map = new Map();
    if (init === undefined) return;
    if (!isObject(init)) throw new TypeError("The headers must be an object or pairs");
    pairsOf(this, init, "the headers", String, headerPair);
  }
  get #m() {
    if (this.#map === null) {
      this.#map = new Map();
      const p = this.#raw === "" ? [] : split(this.#raw, "\n");
      for (let i = 0; i + 1 < p.length; i += 2) this.#add(p[i], p[i + 1]);
      this.#raw = null;
    }
    return this.#map;
  }
  #add(k, v) {
    const old = mapGet(this.#map, k);
    if (k === "set-cookie") {
      if (old) push(old, v);
      else mapSet(this.#map, k, [v]);
      return;
    }
    if (v === "" && old !== undefined) ragged = true;
    mapSet(this.#map, k, old === undefined ? v : old + (k === "cookie" ? "; " : ", ") + v);
  }
  #trim(from) {
    this.#map = new Map();
    mapEach(from.#m, (v, k) => mapSet(this.#map, k, typeof v === "string" ? headerValue(v) : mapped(v, (x) => x)));
  }
  #share(from) {
    this.#raw = from.#raw;
    this.#map = from.#map;
    if (this.#map === null) return;
    this.#guard = "shared";
    if (from.#guard === "none") from.#guard = "shared";
  }
  #change() {
    this.#sorted = null;
    if (this.#guard === "immutable") throw new TypeError("The headers are immutable");
    if (this.#guard !== "shared") return;
    const own = new Map();
    mapEach(this.#map, (v, k) => mapSet(own, k, typeof v === "string" ? v : mapped(v, (x) => x)));
    this.#map = own;
    this.#guard = "none";
  }
  #list() {
    if (this.#sorted === null) {
      const names = [],
        out = [];
      mapEach(this.#m, (_, k) => push(names, k));
      sortArray(names);
      each(names, (k) => {
        const v = mapGet(this.#map, k);
        if (typeof v === "string") push(out, [k, v]);
        else each(v, (one) => push(out, [k, one]));
      });
      this.#sorted = out;
    }
    return this.#sorted;
  }
  append(k, v) {
    need(arguments, 2);
    k = headerName(k);
    v = headerValue(v);
    this.#change();
    this.#m;
    this.#add(k, v);
  }
  delete(k) {
    need(arguments, 1);
    k = headerName(k);
    this.#change();
    mapDelete(this.#m, k);
  }
  get(k) {
    need(arguments, 1);
    const v = mapGet(this.#m, headerName(k));
    return v === undefined ? null : typeof v === "string" ? v : join(v, ", ");
  }
  getSetCookie() {
    return mapped(mapGet(this.#m, "set-cookie") ?? [], (x) => x);
  }
  has(k) {
    need(arguments, 1);
    return mapHas(this.#m, headerName(k));
  }
  set(k, v) {
    need(arguments, 2);
    k = headerName(k);
    v = headerValue(v);
    this.#change();
    mapSet(this.#m, k, k === "set-cookie" ? [v] : v);
  }
  forEach(fn, self) {
    if (typeof fn !== "function") throw new TypeError("forEach needs a function");
    for (let i = 0; i < this.#list().length; i++) {
      const p = this.#list()[i];
      apply(fn, self, [p[1], p[0], this]);
    }
  }
  entries() {
    return headersIterator((i) => this.#list()[i], 2);
  }
  keys() {
    return headersIterator((i) => this.#list()[i], 0);
  }
  values() {
    return headersIterator((i) => this.#list()[i], 1);
  }
}
const headersEntries = Headers.prototype.entries;
hidden(Headers.prototype, symIterator, headersEntries);
tag(Headers, "Headers");
push(platform, isHeaders);
hidden(globalThis, "Headers", Headers);
