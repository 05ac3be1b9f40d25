// Bodies. One is null, a text, bytes, a stream, or held by Go: it stays where it is until somebody reads it, so what is passed on unread
// never enters JavaScript. These words are for further preludes:
//   Held            a body that Go holds: its id, and whether it can be read again and again
//   heldRequest     a Request whose body Go holds; heldResponse a Response
//   takeBody        a body that Go writes: null, a text, bytes, a Held, or a stream, which isStreamState knows: that is read by
//                   acquireReader and readOnce, and given up by readableCancel
//   keptBody        what a body has, read or not: a text, bytes, a Held, or null; undefined for a stream
class Held {
  constructor(id, again, signal) {
    this.id = id;
    this.again = again;
    this.signal = signal ?? null; // aborts the reading
  }
}
setPrototypeOf(Held.prototype, null);
const readHeld = (b, how) =>
  heeding(
    b.signal,
    () => sync("drop", b.id),
    () => call("read", how, b.id),
  );
const isHeld = (v) => typeof v === "object" && v !== null && getPrototypeOf(v) === Held.prototype;
const usedBody = () => new TypeError("Body is unusable: Body has already been read");

const plainText = "text/plain;charset=UTF-8";
// extract makes a body of what a program gives: the body, and the content type that goes with it.
const extract = (v, keepalive) => {
  if (typeof v === "string") return [toWellFormed(v), plainText];
  const s = readableOf(v);
  if (s !== undefined) {
    if (s.disturbed || s.reader !== null) throw new TypeError("Response body object should not be disturbed or locked");
    return [s, null];
  }
  if (isBytes(v)) return [copyOf(v), null];
  if (isBlob(v)) return [blobBytes(v), typeOfBlob(v) || null];
  if (v instanceof URLSearchParams) return [scalar(v.toString()), "application/x-www-form-urlencoded;charset=UTF-8"];
  if (isForm(v)) return writeForm(v);
  if (isObject(v) && typeof v[symAsyncIterator] === "function") return [fromItems(v), null];
  return [scalar(v), plainText];
};
// streamOf shows a body as a ReadableStream. What is whole stays whole for a response that is made of the stream.
const streamOf = (b) => {
  if (!isHeld(b)) {
    const s = restingReadable(readEntire);
    s.entire = b;
    return s;
  }
  const s = restingReadable(readsHeld);
  s.held = b;
  return s;
};
const readEntire = {
  __proto__: null,
  pull: (s) => {
    const b = s.entire,
      all = typeof b === "string" ? utf8(b) : typedSlice(b);
    if (all.length > 0) enqueueReadable(s.controller, all);
    closeReadable(s.controller);
    return done;
  },
  cancel: null,
};
const readsHeld = {
  __proto__: null,
  pull: async (s) => {
    const b = s.held;
    if (b.again) {
      const r = await readHeld(b, "bytes");
      if (r !== "") enqueueReadable(s.controller, fromBase64(r));
      closeReadable(s.controller);
      return;
    }
    const r = await readHeld(b, "next");
    if (r === null) closeReadable(s.controller);
    else enqueueReadable(s.controller, fromBase64(r));
  },
  cancel: async (s) => {
    if (!s.held.again) sync("drop", s.held.id);
  },
};
const isStreamState = (b) => typeof b === "object" && b !== null && "disturbed" in b;
// untouched is what a stream was made of, while nobody has read it; undefined when it was made of nothing that is whole.
const untouched = (s) => (s.held !== null ? s.held : s.entire);
// spentReader holds the lock of all streams that the prelude has read to their ends: nobody is told of it.
const spentReader = { __proto__: null, stream: null, requests: new Queue(), closed: defer(), shell: null };
// spend makes a stream one that was read to its end.
const spend = (s) => {
  s.disturbed = true;
  if (s.controller !== null) {
    s.controller.queue.clear();
    clearReadable(s.controller);
  }
  if (s.reader !== null) {
    if (s.state === "readable") readableClose(s);
    return;
  }
  s.reader = spentReader;
  if (s.state === "readable") s.state = "closed";
};
// readUp is in a stream's place where a body was read of which there is none yet.
const readUp = { __proto__: null, disturbed: true, reader: null };
let hasBody, setBody, streamBody, bodyIsUsed, bodyIsLocked, wholeBody, splitBody, moveBody, takeBody, keptBody;
class Body {
  #body = null;
  #stream = null;
  static {
    hasBody = (o) => isObject(o) && #body in o;
    setBody = (o, b) => {
      const s = isStreamState(b) ? b : null;
      o.#stream = s;
      o.#body = s === null ? b : (untouched(s) ?? s);
    };
    streamBody = (o) => {
      const s = o.#stream;
      if (o.#body === null || (s !== null && s !== readUp)) return s;
      o.#stream = streamOf(o.#body);
      if (s === readUp) spend(o.#stream);
      return o.#stream;
    };
    // read marks a body as one that was read, of which any stream was made that is there.
    const read = (o) => {
      if (o.#stream === null) o.#stream = readUp;
      else spend(o.#stream);
    };
    bodyIsUsed = (o) => o.#stream !== null && o.#stream.disturbed;
    bodyIsLocked = (o) => o.#stream !== null && o.#stream.reader !== null;
    // wholeBody reads everything, once, as text or as bytes.
    wholeBody = async (o, asText) => {
      if (bodyIsUsed(o) || bodyIsLocked(o)) throw usedBody();
      const b = o.#body,
        s = o.#stream;
      if (b === null) return asText ? "" : new Uint8Array(0);
      if (s !== null && untouched(s) === undefined) {
        const all = await drainStream(s);
        return asText ? textOf(all) : all;
      }
      read(o);
      if (typeof b === "string") return asText ? b : utf8(b);
      if (!isHeld(b)) return asText ? textOf(b) : typedSlice(b);
      const r = await readHeld(b, asText ? "text" : "bytes");
      return asText ? r : fromBase64(r);
    };
    // splitBody gives a second body of the same content, for a clone.
    splitBody = (o) => {
      if (bodyIsUsed(o) || bodyIsLocked(o)) throw new TypeError("Body has already been consumed.");
      const b = o.#body;
      if (b === null || typeof b === "string" || typedName(b) !== undefined || (isHeld(b) && b.again && o.#stream === null)) return b;
      const pair = teeReadable(streamBody(o));
      o.#body = o.#stream = pair[0];
      return pair[1];
    };
    // moveBody takes the body away, for a request that is made of another.
    moveBody = (o) => {
      if (bodyIsUsed(o) || bodyIsLocked(o)) throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
      const b = o.#body;
      if (b === null) return null;
      const s = o.#stream;
      if (isHeld(b) && b.again && s === null) return b;
      if (s !== null && untouched(s) === undefined) {
        s.disturbed = true;
        const moved = makeReadable({
            mark: 0,
            pull: async () => {
              const r = await readOnce(reader);
              if (r.done) closeReadable(moved.controller);
              else enqueueReadable(moved.controller, r.value);
            },
            cancel: (e) => readableCancel(s, e),
          }),
          reader = acquireReader(s);
        return moved;
      }
      read(o);
      return b;
    };
    keptBody = (o) => (isStreamState(o.#body) ? undefined : o.#body);
    takeBody = (o) => {
      const b = o.#body,
        s = o.#stream;
      if (b === null) return null;
      if (bodyIsUsed(o) || bodyIsLocked(o)) throw usedBody();
      if (s !== null && untouched(s) === undefined) return s;
      read(o);
      return b;
    };
  }
  get body() {
    const s = streamBody(this);
    return s === null ? null : s.shell;
  }
  get bodyUsed() {
    return bodyIsUsed(this);
  }
  async text() {
    return withoutMark(await wholeBody(this, true));
  }
  async json() {
    return jsonParse(withoutMark(await wholeBody(this, true)));
  }
  async bytes() {
    return await wholeBody(this, false);
  }
  async arrayBuffer() {
    return typedBuffer(await wholeBody(this, false));
  }
  async blob() {
    const type = mimeEssence(this.headers.get("content-type"));
    return blobOf(await wholeBody(this, false), type);
  }
  async formData() {
    const type = this.headers.get("content-type") ?? "";
    if (startsWith(lowerCase(type), "multipart/form-data")) return readForm(type, await wholeBody(this, false));
    if (!startsWith(lowerCase(type), "application/x-www-form-urlencoded"))
      throw new TypeError("Response.formData: Could not parse content as FormData.");
    const f = new FormData();
    each(parsedForm(await wholeBody(this, true)), (p) => push(formList(f), p));
    return f;
  }
}
const mimeEssence = (v) => (v === null ? "" : blobType(v));
const drainStream = async (s) => {
  const r = acquireReader(s),
    parts = [];
  for (;;) {
    const one = await readOnce(r);
    if (one.done) break;
    if (!isView(one.value) || typedName(one.value) !== "Uint8Array") {
      const e = new TypeError("Received non-Uint8Array chunk");
      readableCancel(s, e);
      throw e;
    }
    push(parts, one.value);
  }
  return parts.length === 0 ? new Uint8Array(0) : joinBytes(parts);
};
