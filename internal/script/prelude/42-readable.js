// ReadableStream with default readers. There are no BYOB readers. A stream's state is an object that only the prelude sees; the classes
// that programs see are shells around it. The names are those of the Streams Standard.
const newReadable = () => ({
  __proto__: null,
  state: "readable",
  reader: null,
  stored: undefined,
  disturbed: false,
  controller: null,
  shell: null,
  held: null,
  entire: undefined,
  resting: null, // how it is read, until somebody does
});
// controllerOf is the controller of a stream, which one that rests has none of before it is read: most bodies are only passed on.
const controllerOf = (s) => {
  if (s.resting !== null) {
    const { pull, cancel } = s.resting;
    s.resting = null;
    setUpReadable(s, { __proto__: null, mark: 0, bytes: true, resting: true, size: byteLength, pull: () => pull(s), cancel: cancel && (() => cancel(s)) });
  }
  return s.controller;
};
const byteLength = (x) => x.length;

const readableClose = (s) => {
  s.state = "closed";
  const r = s.reader;
  if (r === null) return;
  r.closed.resolve(undefined);
  const list = r.requests;
  r.requests = new Queue();
  while (list.length) list.take().close();
};
const readableError = (s, e) => {
  s.state = "errored";
  s.stored = e;
  const r = s.reader;
  if (r === null) return;
  r.closed.reject(e);
  failRequests(r, e);
};
const failRequests = (r, e) => {
  const list = r.requests;
  r.requests = new Queue();
  while (list.length) list.take().error(e);
};
const readableCancel = (s, reason) => {
  s.disturbed = true;
  if (s.state === "closed") return resolvedWith(undefined);
  if (s.state === "errored") return rejectedWith(s.stored);
  readableClose(s);
  const c = controllerOf(s);
  c.queue.clear();
  const cancelled = c.cancel === null ? done : c.cancel(reason);
  clearReadable(c);
  return then(cancelled, noop);
};

// Controllers.
const canEnqueue = (c) => !c.closing && c.stream.state === "readable";
const waitingReads = (s) => (s.reader === null ? 0 : s.reader.requests.length);
const clearReadable = (c) => {
  c.pull = c.cancel = null;
  c.size = undefined;
};
const wantedSize = (c) => (c.stream.state === "errored" ? null : c.stream.state === "closed" ? 0 : c.mark - c.queue.total);
const pullIfNeeded = (c) => {
  if (!canEnqueue(c) || !c.started || !(waitingReads(c.stream) > 0 || wantedSize(c) > 0)) return;
  if (c.pulling) {
    c.again = true;
    return;
  }
  if (c.pull === null) return;
  c.pulling = true;
  then(
    c.pull(c.shell),
    () => {
      c.pulling = false;
      if (c.again) {
        c.again = false;
        pullIfNeeded(c);
      }
    },
    (e) => failReadable(c, e),
  );
};
const failReadable = (c, e) => {
  if (c.stream.state !== "readable") return;
  c.queue.clear();
  clearReadable(c);
  readableError(c.stream, e);
};
const closeReadable = (c) => {
  if (!canEnqueue(c)) return;
  c.closing = true;
  if (c.queue.length === 0) {
    clearReadable(c);
    readableClose(c.stream);
  }
};
const enqueueReadable = (c, chunk) => {
  if (!canEnqueue(c)) return;
  if (waitingReads(c.stream) > 0) c.stream.reader.requests.take().chunk(chunk);
  else {
    try {
      c.queue.add(chunk, checkedSize(c.size(chunk)));
    } catch (e) {
      failReadable(c, e);
      throw e;
    }
  }
  pullIfNeeded(c);
};
const setUpReadable = (s, { start, pull, cancel, mark, size, bytes, resting }) => {
  const c = (s.controller = {
    __proto__: null,
    stream: s,
    queue: new Queue(),
    started: false,
    closing: false,
    pulling: false,
    again: false,
    pull,
    cancel,
    mark,
    size: size ?? (() => 1),
    bytes: !!bytes,
    shell: null,
  });
  // One that rests until it is read has nothing to start, and nobody to show a controller to.
  if (resting) {
    c.started = true;
    return;
  }
  c.shell = new ReadableStreamDefaultController(theKey, c);
  const begun = start ? start(c.shell) : undefined;
  then(
    resolvedWith(begun),
    () => {
      c.started = true;
      pullIfNeeded(c);
    },
    (e) => failReadable(c, e),
  );
};
// makeReadable is a stream of the prelude's own.
const makeReadable = (parts) => {
  const s = newReadable();
  s.shell = new ReadableStream(theKey, s);
  setUpReadable(s, { __proto__: null, pull: null, cancel: null, mark: 1, ...parts });
  return s;
};

// restingReadable is a stream of bytes that has nothing to do before it is read. How that is done, { pull, cancel }, is given the stream.
const restingReadable = (how) => {
  const s = newReadable();
  s.shell = new ReadableStream(theKey, s);
  s.resting = how;
  return s;
};

// Readers.
const acquireReader = (s) => {
  if (s.reader !== null) throw new TypeError("Invalid state: ReadableStream is locked");
  const r = { __proto__: null, stream: s, requests: new Queue(), closed: defer(), shell: null };
  s.reader = r;
  quiet(r.closed.promise);
  if (s.state === "closed") r.closed.resolve(undefined);
  if (s.state === "errored") r.closed.reject(s.stored);
  return r;
};
const readFrom = (r, request) => {
  const s = r.stream;
  s.disturbed = true;
  if (s.state === "closed") {
    request.close();
    return;
  }
  if (s.state === "errored") {
    request.error(s.stored);
    return;
  }
  const c = controllerOf(s);
  if (c.queue.length === 0) {
    r.requests.add(request, 0);
    pullIfNeeded(c);
    return;
  }
  const chunk = c.queue.take();
  if (c.closing && c.queue.length === 0) {
    clearReadable(c);
    readableClose(s);
  } else pullIfNeeded(c);
  request.chunk(chunk);
};
const releaseReader = (r) => {
  const s = r.stream,
    gone = new TypeError("The reader was released");
  if (s === null) return;
  if (s.state === "readable") r.closed.reject(gone);
  else {
    r.closed = defer();
    quiet(r.closed.promise);
    r.closed.reject(gone);
  }
  s.reader = null;
  r.stream = null;
  failRequests(r, gone);
};
const readOnce = (r) => {
  const d = defer();
  readFrom(r, {
    __proto__: null,
    chunk: (value) => d.resolve({ value, done: false }),
    close: () => d.resolve({ value: undefined, done: true }),
    error: d.reject,
  });
  return d.promise;
};

let readableOf;
const illegal = () => new TypeError("Illegal constructor");
class ReadableStreamDefaultController {
  #c;
  constructor(key, c) {
    if (key !== theKey) throw illegal();
    this.#c = c;
  }
  get desiredSize() {
    return wantedSize(this.#c);
  }
  get byobRequest() {
    return this.#c.bytes ? null : undefined;
  }
  close() {
    if (!canEnqueue(this.#c)) throw new TypeError("Invalid state: Controller is already closed");
    closeReadable(this.#c);
  }
  enqueue(chunk) {
    const c = this.#c;
    if (!canEnqueue(c)) throw new TypeError("Invalid state: Controller is already closed");
    if (c.bytes && !isView(chunk)) throw new TypeError("A chunk of a stream of bytes must be a view of an ArrayBuffer");
    if (c.bytes && bytesOf(chunk).length === 0) throw new TypeError("A chunk of a stream of bytes must not be empty");
    enqueueReadable(c, c.bytes ? bytesOf(chunk) : chunk);
  }
  error(e) {
    failReadable(this.#c, e);
  }
}
delete ReadableStreamDefaultController.prototype.byobRequest;
tag(ReadableStreamDefaultController, "ReadableStreamDefaultController");
class ReadableStreamDefaultReader {
  #r;
  constructor(stream, key) {
    if (key === theKey) {
      this.#r = stream;
      return;
    }
    const s = readableOf(stream);
    if (s === undefined) throw new TypeError("A reader needs a ReadableStream");
    this.#r = acquireReader(s);
  }
  get closed() {
    try {
      return this.#r.closed.promise;
    } catch (e) {
      return rejectedWith(e);
    }
  }
  read() {
    try {
      return this.#r.stream === null ? rejectedWith(new TypeError("The reader is not attached to a stream")) : readOnce(this.#r);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  cancel(reason) {
    try {
      return this.#r.stream === null ? rejectedWith(new TypeError("The reader is not attached to a stream")) : readableCancel(this.#r.stream, reason);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  releaseLock() {
    releaseReader(this.#r);
  }
}
tag(ReadableStreamDefaultReader, "ReadableStreamDefaultReader");

class ReadableStream {
  #s;
  static {
    readableOf = (v) => (typeof v === "object" && v !== null && #s in v ? v.#s : undefined);
  }
  constructor(source, strategy) {
    if (source === theKey) {
      this.#s = strategy;
      return;
    }
    if (source === null || (source !== undefined && !isObject(source))) throw new TypeError("The source of a ReadableStream must be an object");
    const s = (this.#s = newReadable());
    s.shell = this;
    const type = source?.type === undefined ? undefined : String(source.type);
    if (type !== undefined && type !== "bytes") throw new TypeError(type + " is not a type of stream");
    if (type === "bytes" && strategy?.size !== undefined) throw new RangeError("The strategy of a stream of bytes has no size");
    const start = source?.start;
    if (start !== undefined && typeof start !== "function") throw new TypeError("start must be a function");
    setUpReadable(s, {
      start: start && ((c) => apply(start, source, [c])),
      pull: algorithm(source, "pull"),
      cancel: algorithm(source, "cancel"),
      size: type === "bytes" ? (b) => b.byteLength : sizeOf(strategy),
      mark: markOf(strategy, type === "bytes" ? 0 : 1),
      bytes: type === "bytes",
    });
  }
  get locked() {
    return this.#s.reader !== null;
  }
  getReader(options) {
    if (options !== undefined && options !== null && !isObject(options)) throw new TypeError("The options of getReader must be an object");
    const mode = options?.mode;
    if (mode !== undefined && String(mode) !== "byob") throw new TypeError(mode + " is not a mode of a reader");
    if (mode !== undefined) {
      if (!controllerOf(this.#s).bytes) throw new TypeError("Only a stream of bytes has BYOB readers");
      throw unsupported("A BYOB reader", "use getReader() without a mode");
    }
    return new ReadableStreamDefaultReader(acquireReader(this.#s), theKey);
  }
  cancel(reason) {
    try {
      return this.#s.reader !== null ? rejectedWith(new TypeError("Invalid state: ReadableStream is locked")) : readableCancel(this.#s, reason);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  tee() {
    const pair = teeReadable(this.#s);
    return [pair[0].shell, pair[1].shell];
  }
  pipeTo(to, options) {
    try {
      const w = writableOf(to);
      if (w === undefined) throw new TypeError("pipeTo needs a WritableStream");
      const o = pipeOptions(options);
      if (this.#s.reader !== null) throw new TypeError("Invalid state: ReadableStream is locked");
      if (w.writer !== null) throw new TypeError("Invalid state: WritableStream is locked");
      return pipe(this.#s, w, o);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  pipeThrough(pair, options) {
    if (!isObject(pair)) throw new TypeError("pipeThrough needs a pair of streams");
    const readable = pair.readable,
      writable = pair.writable;
    if (readableOf(readable) === undefined) throw new TypeError("The readable of a pair must be a ReadableStream");
    const w = writableOf(writable);
    if (w === undefined) throw new TypeError("The writable of a pair must be a WritableStream");
    const o = pipeOptions(options);
    if (this.#s.reader !== null) throw new TypeError("Invalid state: ReadableStream is locked");
    if (w.writer !== null) throw new TypeError("Invalid state: WritableStream is locked");
    quiet(pipe(this.#s, w, o));
    return readable;
  }
  values(options) {
    return iterateReadable(this.#s, !!options?.preventCancel);
  }
  static from(items) {
    return fromItems(items).shell;
  }
}
hidden(ReadableStream.prototype, symAsyncIterator, ReadableStream.prototype.values);
tag(ReadableStream, "ReadableStream");
const pipeOptions = (o) => {
  if (o !== undefined && o !== null && !isObject(o)) throw new TypeError("The options of a pipe must be an object");
  const signal = o?.signal;
  if (signal !== undefined && !isSignal(signal)) throw new TypeError("The signal of a pipe must be an AbortSignal");
  return { __proto__: null, preventAbort: !!o?.preventAbort, preventCancel: !!o?.preventCancel, preventClose: !!o?.preventClose, signal };
};

// tee lets two streams read what one gives.
const teeReadable = (s) => {
  const reader = acquireReader(s),
    cancelled = defer(),
    gone = [false, false],
    reasons = [undefined, undefined],
    branches = [];
  let reading = false,
    again = false;
  const both = (fn) => {
    for (let i = 0; i < 2; i++) if (!gone[i]) fn(branches[i].controller);
  };
  const pull = () => {
    if (reading) {
      again = true;
      return done;
    }
    reading = true;
    readFrom(reader, {
      __proto__: null,
      chunk: (chunk) =>
        queueMicrotask(() => {
          again = false;
          both((c) => enqueueReadable(c, chunk));
          reading = false;
          if (again) pull();
        }),
      close: () => {
        reading = false;
        both(closeReadable);
        if (!gone[0] || !gone[1]) cancelled.resolve(undefined);
      },
      error: () => {
        reading = false;
      },
    });
    return done;
  };
  const branch = (i) =>
    makeReadable({
      pull,
      cancel: (reason) => {
        gone[i] = true;
        reasons[i] = reason;
        if (gone[1 - i]) then(readableCancel(s, [reasons[0], reasons[1]]), cancelled.resolve, cancelled.reject);
        return cancelled.promise;
      },
    });
  push(branches, branch(0));
  push(branches, branch(1));
  then(reader.closed.promise, undefined, (e) => {
    failReadable(branches[0].controller, e);
    failReadable(branches[1].controller, e);
    if (!gone[0] || !gone[1]) cancelled.resolve(undefined);
  });
  return branches;
};

// Iterating.
const streamIterator = create(asyncIteratorProto);
const iterations = new WeakMap();
// queued lets one step of an iterator follow the other. With none under way it begins at once: a for await that is left does not wait.
const queued = (it, step) => {
  const before = it.last,
    p =
      before === null
        ? step()
        : (async () => {
            try {
              await before;
            } catch {}
            return await step();
          })(),
    over = () => {
      if (it.last === p) it.last = null;
    };
  it.last = p;
  then(p, over, over);
  return p;
};
hidden(streamIterator, "next", function next() {
  const it = weakGet(iterations, this);
  return it ? queued(it, () => nextOf(it)) : rejectedWith(new TypeError("not an iterator of a stream"));
});
hidden(streamIterator, "return", function (value) {
  const it = weakGet(iterations, this);
  return it ? queued(it, () => endOf(it, value)) : rejectedWith(new TypeError("not an iterator of a stream"));
});
const nextOf = (it) => {
  if (it.finished) return resolvedWith({ done: true, value: undefined });
  const d = defer();
  readFrom(it.reader, {
    __proto__: null,
    chunk: (value) => {
      d.resolve({ value, done: false });
    },
    close: () => {
      it.finished = true;
      releaseReader(it.reader);
      d.resolve({ done: true, value: undefined });
    },
    error: (e) => {
      it.finished = true;
      releaseReader(it.reader);
      d.reject(e);
    },
  });
  return d.promise;
};
const endOf = (it, value) => {
  if (it.finished) return resolvedWith({ done: true, value });
  it.finished = true;
  if (it.keep) {
    releaseReader(it.reader);
    return resolvedWith({ done: true, value });
  }
  const left = readableCancel(it.reader.stream, value);
  releaseReader(it.reader);
  return then(left, () => ({ done: true, value }));
};
const iterateReadable = (s, keep) => {
  const it = create(streamIterator);
  weakSet(iterations, it, { __proto__: null, reader: acquireReader(s), keep, finished: false, last: null });
  return it;
};
const fromItems = (items) => {
  if (items === null || items === undefined) throw new TypeError("ReadableStream.from needs an iterable");
  const wait = items[symAsyncIterator],
    method = wait ?? items[symIterator];
  if (typeof method !== "function") throw new TypeError("ReadableStream.from needs an iterable");
  const it = apply(method, items, []),
    next = it?.next;
  if (!isObject(it)) throw new TypeError("The iterator of an iterable must be an object");
  const s = makeReadable({
    mark: 0,
    pull: async () => {
      const r = await apply(next, it, []);
      if (!isObject(r)) throw new TypeError("The result of an iterator must be an object");
      if (r.done) {
        closeReadable(s.controller);
        return;
      }
      enqueueReadable(s.controller, wait ? r.value : await r.value);
    },
    cancel: async (reason) => {
      const back = it.return;
      if (back === undefined || back === null) return;
      const r = await apply(back, it, [reason]);
      if (!isObject(r)) throw new TypeError("The result of an iterator must be an object");
    },
  });
  return s;
};
push(platform, (v) => readableOf(v) !== undefined);
offer({ ReadableStream, ReadableStreamDefaultReader, ReadableStreamDefaultController });
