// WritableStream. The names are those of the Streams Standard.
const newWritable = () => ({
  __proto__: null,
  state: "writable",
  stored: undefined,
  writer: null,
  controller: null,
  requests: new Queue(),
  inFlight: null,
  closeRequest: null,
  inFlightClose: null,
  pendingAbort: null,
  backpressure: false,
  shell: null,
});
const closeQueued = (w) => w.closeRequest !== null || w.inFlightClose !== null;

const writableAbort = (w, reason) => {
  if (w.state === "closed" || w.state === "errored") return resolvedWith(undefined);
  w.controller.aborter.abort(reason);
  if (w.state === "closed" || w.state === "errored") return resolvedWith(undefined);
  if (w.pendingAbort !== null) return w.pendingAbort.promise;
  const wasErroring = w.state === "erroring";
  if (wasErroring) reason = undefined;
  const d = defer();
  w.pendingAbort = { __proto__: null, promise: d.promise, resolve: d.resolve, reject: d.reject, reason, wasErroring };
  if (!wasErroring) startErroring(w, reason);
  return d.promise;
};
const writableEnd = (w) => {
  if (w.state === "closed" || w.state === "errored") return rejectedWith(new TypeError("The stream is " + w.state + " and cannot be closed"));
  const d = defer();
  w.closeRequest = d;
  if (w.writer !== null && w.backpressure && w.state === "writable") {
    w.writer.ready.resolve(undefined);
    w.writer.readyPending = false;
  }
  w.controller.queue.add(closeSentinel, 0);
  advanceQueue(w.controller);
  return d.promise;
};
const closeSentinel = { __proto__: null };
const startErroring = (w, reason) => {
  w.state = "erroring";
  w.stored = reason;
  if (w.writer !== null) failReady(w.writer, reason);
  if (w.inFlight === null && w.inFlightClose === null && w.controller.started) finishErroring(w);
};
const finishErroring = (w) => {
  w.state = "errored";
  w.controller.queue.clear();
  const e = w.stored,
    list = w.requests;
  w.requests = new Queue();
  while (list.length) list.take().reject(e);
  const pending = w.pendingAbort;
  w.pendingAbort = null;
  if (pending === null) {
    rejectClose(w);
    return;
  }
  if (pending.wasErroring) {
    pending.reject(e);
    rejectClose(w);
    return;
  }
  const c = w.controller,
    aborted = c.abort === null ? done : c.abort(pending.reason);
  clearWritable(c);
  then(
    aborted,
    () => {
      pending.resolve(undefined);
      rejectClose(w);
    },
    (x) => {
      pending.reject(x);
      rejectClose(w);
    },
  );
};
const rejectClose = (w) => {
  if (w.closeRequest !== null) {
    w.closeRequest.reject(w.stored);
    w.closeRequest = null;
  }
  if (w.writer !== null) {
    quiet(w.writer.closed.promise);
    w.writer.closed.reject(w.stored);
  }
};
const failReady = (writer, e) => {
  if (writer.readyPending) writer.ready.reject(e);
  else {
    writer.ready = defer();
    writer.ready.reject(e);
  }
  writer.readyPending = false;
  quiet(writer.ready.promise);
};
const failClosed = (writer, e) => {
  if (writer.closedPending) writer.closed.reject(e);
  else {
    writer.closed = defer();
    writer.closed.reject(e);
  }
  writer.closedPending = false;
  quiet(writer.closed.promise);
};
const dealWithRejection = (w, e) => {
  if (w.state === "writable") startErroring(w, e);
  else finishErroring(w);
};
const updateBackpressure = (w, backpressure) => {
  const writer = w.writer;
  if (writer !== null && backpressure !== w.backpressure) {
    if (backpressure) {
      writer.ready = defer();
      writer.readyPending = true;
    } else {
      writer.ready.resolve(undefined);
      writer.readyPending = false;
    }
  }
  w.backpressure = backpressure;
};

// Controllers.
const clearWritable = (c) => {
  c.write = c.close = c.abort = null;
  c.size = undefined;
};
const needsWait = (c) => c.mark - c.queue.total <= 0;
const failWritable = (c, e) => {
  clearWritable(c);
  startErroring(c.stream, e);
};
const failIfWritable = (c, e) => {
  if (c.stream.state === "writable") failWritable(c, e);
};
const advanceQueue = (c) => {
  const w = c.stream;
  if (!c.started || w.inFlight !== null) return;
  if (w.state === "erroring") {
    finishErroring(w);
    return;
  }
  if (w.state !== "writable" && w.state !== "closing") return;
  if (c.queue.length === 0) return;
  const next = c.queue.peek();
  if (next === closeSentinel) processClose(c);
  else processWrite(c, next);
};
const processClose = (c) => {
  const w = c.stream;
  w.inFlightClose = w.closeRequest;
  w.closeRequest = null;
  c.queue.take();
  const closed = c.close === null ? done : c.close();
  clearWritable(c);
  then(
    closed,
    () => {
      w.inFlightClose.resolve(undefined);
      w.inFlightClose = null;
      if (w.state === "erroring") {
        w.stored = undefined;
        if (w.pendingAbort !== null) {
          w.pendingAbort.resolve(undefined);
          w.pendingAbort = null;
        }
      }
      w.state = "closed";
      if (w.writer !== null) {
        w.writer.closed.resolve(undefined);
        w.writer.closedPending = false;
      }
    },
    (e) => {
      w.inFlightClose.reject(e);
      w.inFlightClose = null;
      if (w.pendingAbort !== null) {
        w.pendingAbort.reject(e);
        w.pendingAbort = null;
      }
      dealWithRejection(w, e);
    },
  );
};
const processWrite = (c, chunk) => {
  const w = c.stream;
  w.inFlight = w.requests.take();
  then(
    c.write === null ? done : c.write(chunk, c.shell),
    () => {
      w.inFlight.resolve(undefined);
      w.inFlight = null;
      c.queue.take();
      if (!closeQueued(w) && w.state === "writable") updateBackpressure(w, needsWait(c));
      advanceQueue(c);
    },
    (e) => {
      if (w.state === "writable") clearWritable(c);
      w.inFlight.reject(e);
      w.inFlight = null;
      dealWithRejection(w, e);
    },
  );
};
const setUpWritable = (w, { start, write, close, abort, mark, size }) => {
  const c = (w.controller = {
    __proto__: null,
    stream: w,
    queue: new Queue(),
    started: false,
    write,
    close,
    abort,
    mark,
    size,
    aborter: new AbortController(),
    shell: null,
  });
  c.shell = new WritableStreamDefaultController(theKey, c);
  updateBackpressure(w, needsWait(c));
  const begun = start ? start(c.shell) : undefined;
  then(
    resolvedWith(begun),
    () => {
      c.started = true;
      advanceQueue(c);
    },
    (e) => {
      c.started = true;
      dealWithRejection(w, e);
    },
  );
};
const makeWritable = (parts) => {
  const w = newWritable();
  w.shell = new WritableStream(theKey, w);
  setUpWritable(w, { __proto__: null, write: null, close: null, abort: null, mark: 1, size: () => 1, ...parts });
  return w;
};

// Writers.
const acquireWriter = (w) => {
  if (w.writer !== null) throw new TypeError("Invalid state: WritableStream is locked");
  const writer = (w.writer = { __proto__: null, stream: w, ready: defer(), closed: defer(), readyPending: false, closedPending: false });
  quiet(writer.ready.promise);
  quiet(writer.closed.promise);
  switch (w.state) {
    case "writable":
      if (!closeQueued(w) && w.backpressure) writer.readyPending = true;
      else writer.ready.resolve(undefined);
      writer.closedPending = true;
      break;
    case "erroring":
      writer.ready.reject(w.stored);
      writer.closedPending = true;
      break;
    case "closed":
      writer.ready.resolve(undefined);
      writer.closed.resolve(undefined);
      break;
    default:
      writer.ready.reject(w.stored);
      writer.closed.reject(w.stored);
  }
  return writer;
};
const releaseWriter = (writer) => {
  const gone = new TypeError("The writer was released");
  failReady(writer, gone);
  failClosed(writer, gone);
  writer.stream.writer = null;
  writer.stream = null;
};
const writeTo = (writer, chunk) => {
  const w = writer.stream,
    c = w.controller;
  let size = 1;
  if (c.size !== undefined)
    try {
      size = checkedSize(c.size(chunk));
    } catch (e) {
      failIfWritable(c, e);
    }
  if (w !== writer.stream) return rejectedWith(new TypeError("The writer was released"));
  if (w.state === "errored") return rejectedWith(w.stored);
  if (closeQueued(w) || w.state === "closed") return rejectedWith(new TypeError("The stream is closing or closed and cannot be written to"));
  if (w.state === "erroring") return rejectedWith(w.stored);
  const d = defer();
  w.requests.add(d, 0);
  c.queue.add(chunk, size);
  if (!closeQueued(w) && w.state === "writable") updateBackpressure(w, needsWait(c));
  advanceQueue(c);
  return d.promise;
};
const endPropagating = (writer) => {
  const w = writer.stream;
  if (closeQueued(w) || w.state === "closed") return resolvedWith(undefined);
  if (w.state === "errored") return rejectedWith(w.stored);
  return writableEnd(w);
};

let writableOf;
class WritableStreamDefaultController {
  #c;
  constructor(key, c) {
    if (key !== theKey) throw illegal();
    this.#c = c;
  }
  get signal() {
    return this.#c.aborter.signal;
  }
  error(e) {
    failIfWritable(this.#c, e);
  }
}
tag(WritableStreamDefaultController, "WritableStreamDefaultController");
const noStream = () => new TypeError("The writer is not attached to a stream");
class WritableStreamDefaultWriter {
  #w;
  constructor(stream) {
    const w = writableOf(stream);
    if (w === undefined) throw new TypeError("A writer needs a WritableStream");
    this.#w = acquireWriter(w);
  }
  get closed() {
    try {
      return this.#w.closed.promise;
    } catch (e) {
      return rejectedWith(e);
    }
  }
  get ready() {
    try {
      return this.#w.ready.promise;
    } catch (e) {
      return rejectedWith(e);
    }
  }
  get desiredSize() {
    const w = this.#w.stream;
    if (w === null) throw noStream();
    return w.state === "errored" || w.state === "erroring" ? null : w.state === "closed" ? 0 : w.controller.mark - w.controller.queue.total;
  }
  write(chunk) {
    try {
      return this.#w.stream === null ? rejectedWith(noStream()) : writeTo(this.#w, chunk);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  close() {
    try {
      const w = this.#w.stream;
      return w === null ? rejectedWith(noStream()) : closeQueued(w) ? rejectedWith(new TypeError("The stream is closing already")) : writableEnd(w);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  abort(reason) {
    try {
      return this.#w.stream === null ? rejectedWith(noStream()) : writableAbort(this.#w.stream, reason);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  releaseLock() {
    if (this.#w.stream !== null) releaseWriter(this.#w);
  }
}
tag(WritableStreamDefaultWriter, "WritableStreamDefaultWriter");
class WritableStream {
  #s;
  static {
    writableOf = (v) => (isObject(v) && #s in v ? v.#s : undefined);
  }
  constructor(sink, strategy) {
    if (sink === theKey) {
      this.#s = strategy;
      return;
    }
    if (sink === null || (sink !== undefined && !isObject(sink))) throw new TypeError("The sink of a WritableStream must be an object");
    if (sink?.type !== undefined) throw new RangeError("The sink of a WritableStream has no type");
    const w = (this.#s = newWritable());
    w.shell = this;
    const start = sink?.start;
    if (start !== undefined && typeof start !== "function") throw new TypeError("start must be a function");
    setUpWritable(w, {
      start: start && ((c) => apply(start, sink, [c])),
      write: algorithm(sink, "write"),
      close: algorithm(sink, "close"),
      abort: algorithm(sink, "abort"),
      size: sizeOf(strategy),
      mark: markOf(strategy, 1),
    });
  }
  get locked() {
    return this.#s.writer !== null;
  }
  getWriter() {
    return new WritableStreamDefaultWriter(this);
  }
  abort(reason) {
    try {
      return this.#s.writer !== null ? rejectedWith(new TypeError("Invalid state: WritableStream is locked")) : writableAbort(this.#s, reason);
    } catch (e) {
      return rejectedWith(e);
    }
  }
  close() {
    try {
      const w = this.#s;
      if (w.writer !== null) return rejectedWith(new TypeError("Invalid state: WritableStream is locked"));
      return closeQueued(w) ? rejectedWith(new TypeError("The stream is closing already")) : writableEnd(w);
    } catch (e) {
      return rejectedWith(e);
    }
  }
}
tag(WritableStream, "WritableStream");
push(platform, (v) => writableOf(v) !== undefined);
offer({ WritableStream, WritableStreamDefaultWriter, WritableStreamDefaultController });

// pipe moves what one stream gives into another, with the speed of the slower.
const pipe = (s, w, { preventClose, preventAbort, preventCancel, signal }) => {
  const reader = acquireReader(s),
    writer = acquireWriter(w),
    result = defer();
  let ending = false,
    lastWrite = done;
  s.disturbed = true;
  const finalize = (failed, e) => {
    if (writer.stream !== null) releaseWriter(writer);
    releaseReader(reader);
    if (signal) offAbort(signal, aborted);
    failed ? result.reject(e) : result.resolve(undefined);
  };
  const writesDone = async () => {
    for (let last = null; last !== lastWrite;) {
      last = lastWrite;
      await last;
    }
  };
  const shutdown = (action, failed, e) => {
    if (ending) return;
    ending = true;
    const rest = () => {
      if (action === null) finalize(failed, e);
      else
        then(
          action(),
          () => finalize(failed, e),
          (x) => finalize(true, x),
        );
    };
    if (w.state === "writable" && !closeQueued(w)) then(writesDone(), rest);
    else rest();
  };
  const aborted = () => {
    const reason = signal.reason,
      actions = [];
    if (!preventAbort) push(actions, () => (w.state === "writable" ? writableAbort(w, reason) : done));
    if (!preventCancel) push(actions, () => (s.state === "readable" ? readableCancel(s, reason) : done));
    shutdown(
      async () => {
        const all = mapped(actions, (a) => quiet(a()));
        for (let i = 0; i < all.length; i++) await all[i];
      },
      true,
      reason,
    );
  };
  if (signal) {
    if (signal.aborted) {
      aborted();
      return result.promise;
    }
    onAbort(signal, aborted);
  }
  const sourceFailed = (e) => shutdown(preventAbort ? null : () => writableAbort(w, e), true, e);
  const sinkFailed = (e) => shutdown(preventCancel ? null : () => readableCancel(s, e), true, e);
  const sourceClosed = () => shutdown(preventClose ? null : () => endPropagating(writer), false);
  if (s.state === "errored") sourceFailed(s.stored);
  else then(reader.closed.promise, undefined, sourceFailed);
  if (w.state === "errored") sinkFailed(w.stored);
  else then(writer.closed.promise, undefined, sinkFailed);
  if (s.state === "closed") sourceClosed();
  else then(reader.closed.promise, sourceClosed, noop);
  if (closeQueued(w) || w.state === "closed") {
    const closed = new TypeError("The destination is closed");
    shutdown(preventCancel ? null : () => readableCancel(s, closed), true, closed);
  }
  const step = () => {
    if (ending) return;
    then(
      writer.ready.promise,
      () => {
        if (ending) return;
        readFrom(reader, {
          __proto__: null,
          chunk: (chunk) => {
            lastWrite = then(writeTo(writer, chunk), undefined, noop);
            step();
          },
          close: noop,
          error: noop,
        });
      },
      noop,
    );
  };
  step();
  return result.promise;
};
