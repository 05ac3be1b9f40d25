// TransformStream, and the streams of text.
const transformStates = new WeakMap();
const setUpTransform = (shell, transformer, writableMark, writableSize, readableMark, readableSize) => {
  const begun = defer();
  const t = { __proto__: null, backpressure: undefined, change: null, controller: null, readable: null, writable: null };
  const fail = (e) => {
    failReadable(t.readable.controller, e);
    failWrite(e);
  };
  const failWrite = (e) => {
    clearTransform(c);
    failIfWritable(t.writable.controller, e);
    if (t.backpressure) setBackpressure(false);
  };
  const setBackpressure = (v) => {
    if (t.change !== null) t.change.resolve(undefined);
    t.change = defer();
    t.backpressure = v;
  };
  const clearTransform = (x) => {
    x.transform = x.flush = x.cancel = null;
  };
  const c = (t.controller = {
    __proto__: null,
    stream: t,
    ending: null,
    transform: algorithm(transformer, "transform"),
    flush: algorithm(transformer, "flush"),
    cancel: algorithm(transformer, "cancel"),
    plain: transformer?.transform === undefined,
    enqueue: (chunk) => {
      const rc = t.readable.controller;
      if (!canEnqueue(rc)) throw new TypeError("The readable side cannot be written to now");
      try {
        enqueueReadable(rc, chunk);
      } catch (e) {
        failWrite(e);
        throw t.readable.stored;
      }
      const wait = !(waitingReads(t.readable) > 0 || wantedSize(rc) > 0);
      if (wait !== t.backpressure) setBackpressure(true);
    },
    error: fail,
    terminate: () => {
      closeReadable(t.readable.controller);
      failWrite(new TypeError("The transform stream was terminated"));
    },
  });
  const shellController = new TransformStreamDefaultController(theKey, c, t);
  const perform = (chunk) => {
    if (c.plain) {
      try {
        c.enqueue(chunk);
        return done;
      } catch (e) {
        return rejectedWith(e);
      }
    }
    return then(c.transform(chunk, shellController), undefined, (e) => {
      fail(e);
      throw e;
    });
  };
  // end begins the one end that a stream has, by either side; whoever ends it again waits for the same. The other side hears of it unless it
  // has failed meanwhile.
  const end = (work, side, well, failed) => {
    if (c.ending !== null) return c.ending.promise;
    const d = (c.ending = defer()),
      worked = work();
    clearTransform(c);
    then(
      worked,
      () => {
        if (t[side].state === "errored") return d.reject(t[side].stored);
        well();
        d.resolve(undefined);
      },
      (e) => {
        failed(e);
        d.reject(e);
      },
    );
    return d.promise;
  };
  const cancelled = (reason) => () => (c.cancel === null ? done : c.cancel(reason));
  const failOther = (reason) => {
    failIfWritable(t.writable.controller, reason);
    if (t.backpressure) setBackpressure(false);
  };
  t.writable = makeWritable({
    start: () => begun.promise,
    mark: writableMark,
    size: writableSize,
    write: async (chunk) => {
      if (t.backpressure) {
        await t.change.promise;
        if (t.writable.state === "erroring") throw t.writable.stored;
      }
      await perform(chunk);
    },
    abort: (reason) => end(cancelled(reason), "readable", () => failReadable(t.readable.controller, reason), (e) => failReadable(t.readable.controller, e)),
    close: () => end(() => (c.flush === null ? done : c.flush(shellController)), "readable", () => closeReadable(t.readable.controller), (e) => failReadable(t.readable.controller, e)),
  });
  t.readable = makeReadable({
    start: () => begun.promise,
    mark: readableMark,
    size: readableSize,
    pull: () => {
      setBackpressure(false);
      return t.change.promise;
    },
    cancel: (reason) => end(cancelled(reason), "writable", () => failOther(reason), failOther),
  });
  setBackpressure(true);
  weakSet(transformStates, shell, t);
  const start = transformer?.start;
  if (start !== undefined) {
    if (typeof start !== "function") throw new TypeError("start must be a function");
    then(resolvedWith(apply(start, transformer, [shellController])), begun.resolve, begun.reject);
  } else begun.resolve(undefined);
};
class TransformStreamDefaultController {
  #c;
  #t;
  constructor(key, c, t) {
    if (key !== theKey) throw illegal();
    this.#c = c;
    this.#t = t;
  }
  get desiredSize() {
    return wantedSize(this.#t.readable.controller);
  }
  enqueue(chunk) {
    this.#c.enqueue(chunk);
  }
  error(e) {
    this.#c.error(e);
  }
  terminate() {
    this.#c.terminate();
  }
}
tag(TransformStreamDefaultController, "TransformStreamDefaultController");
class TransformStream {
  constructor(transformer, writableStrategy, readableStrategy) {
    if (transformer === null || (transformer !== undefined && !isObject(transformer))) throw new TypeError("A transformer must be an object");
    if (transformer?.readableType !== undefined || transformer?.writableType !== undefined) throw new RangeError("A transformer has no types");
    setUpTransform(this, transformer, markOf(writableStrategy, 1), sizeOf(writableStrategy), markOf(readableStrategy, 0), sizeOf(readableStrategy));
  }
  get readable() {
    return stateOfTransform(this).readable.shell;
  }
  get writable() {
    return stateOfTransform(this).writable.shell;
  }
}
const stateOfTransform = (o) => {
  const t = weakGet(transformStates, o);
  if (t === undefined) throw new TypeError("not a transform stream");
  return t;
};
tag(TransformStream, "TransformStream");
push(platform, (v) => weakGet(transformStates, v) !== undefined);

class TextEncoderStream {
  constructor() {
    let high = "";
    setUpTransform(
      this,
      {
        transform(chunk, c) {
          let s = high + String(chunk);
          high = "";
          const last = s.length ? charCodeAt(s, s.length - 1) : 0;
          // Half of a pair waits for its other half.
          if (last >= 0xd800 && last <= 0xdbff) {
            high = strSlice(s, -1);
            s = strSlice(s, 0, -1);
          }
          if (s !== "") c.enqueue(utf8(s));
        },
        flush(c) {
          if (high !== "") c.enqueue(utf8("\ufffd"));
        },
      },
      1,
      () => 1,
      0,
      () => 1,
    );
  }
  get encoding() {
    return "utf-8";
  }
  get readable() {
    return stateOfTransform(this).readable.shell;
  }
  get writable() {
    return stateOfTransform(this).writable.shell;
  }
}
tag(TextEncoderStream, "TextEncoderStream");
class TextDecoderStream {
  #decoder;
  constructor(label, options) {
    const d = (this.#decoder = new TextDecoder(label, options));
    setUpTransform(
      this,
      {
        transform(chunk, c) {
          const s = d.decode(chunk, { stream: true });
          if (s !== "") c.enqueue(s);
        },
        flush(c) {
          const s = d.decode();
          if (s !== "") c.enqueue(s);
        },
      },
      1,
      () => 1,
      0,
      () => 1,
    );
  }
  get encoding() {
    return this.#decoder.encoding;
  }
  get fatal() {
    return this.#decoder.fatal;
  }
  get ignoreBOM() {
    return this.#decoder.ignoreBOM;
  }
  get readable() {
    return stateOfTransform(this).readable.shell;
  }
  get writable() {
    return stateOfTransform(this).writable.shell;
  }
}
tag(TextDecoderStream, "TextDecoderStream");
offer({ TransformStream, TransformStreamDefaultController, TextEncoderStream, TextDecoderStream });
