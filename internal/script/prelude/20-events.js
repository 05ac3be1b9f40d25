// Events, and the signals that cancel.
const domCodes = {
  __proto__: null,
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
};
let isDOMException;
class DOMException extends Error {
  #name;
  #message;
  static {
    isDOMException = (v) => isObject(v) && #name in v;
  }
  constructor(message = "", options = "Error") {
    super();
    this.#message = String(message);
    if (isObject(options)) {
      this.#name = options.name === undefined ? "Error" : String(options.name);
      if ("cause" in options) hidden(this, "cause", options.cause);
    } else this.#name = String(options);
    delete this.message;
  }
  get name() {
    return this.#name;
  }
  get message() {
    return this.#message;
  }
  get code() {
    return domCodes[this.#name] ?? 0;
  }
}
tag(DOMException, "DOMException");
each(keys(domCodes), (name) => {
  const code =
    name === "InvalidCharacterError" ? "INVALID_CHARACTER_ERR" : upperCase(join(split(strSlice(name, 0, -5), /(?<=[a-z])(?=[A-Z])/), "_")) + "_ERR";
  each([DOMException, DOMException.prototype], (o) => defineProperty(o, code, { __proto__: null, value: domCodes[name], enumerable: true }));
});
const domError = (message, name, type) => {
  const e = new DOMException(message, name);
  if (type === "unsupported") {
    weakSetAdd(unsupportedErrors, e);
    e.type = type;
  }
  return e;
};

let setTarget, wasStopped, dispatching;
class Event {
  #type;
  #bubbles;
  #cancelable;
  #composed;
  #stopped = false;
  #propagation = true;
  #prevented = false;
  #target = null;
  #current = null;
  #active = false;
  #time = realNow() - origin;
  static {
    setTarget = (e, target, active) => {
      if (active) e.#target = target;
      e.#current = active ? target : null;
      e.#active = active;
      e.#stopped = false;
    };
    wasStopped = (e) => e.#stopped;
    dispatching = (e) => e.#active;
  }
  constructor(type, init) {
    if (arguments.length === 0) throw new TypeError("An event needs a type");
    if (init !== undefined && init !== null && !isObject(init)) throw new TypeError("The options of an event must be an object");
    this.#type = String(type);
    this.#bubbles = !!init?.bubbles;
    this.#cancelable = !!init?.cancelable;
    this.#composed = !!init?.composed;
  }
  get type() {
    return this.#type;
  }
  get bubbles() {
    return this.#bubbles;
  }
  get cancelable() {
    return this.#cancelable;
  }
  get composed() {
    return this.#composed;
  }
  get target() {
    return this.#target;
  }
  get srcElement() {
    return this.#target;
  }
  get currentTarget() {
    return this.#current;
  }
  get defaultPrevented() {
    return this.#prevented;
  }
  get returnValue() {
    return !this.#prevented;
  }
  get timeStamp() {
    return this.#time;
  }
  get isTrusted() {
    return false;
  }
  get eventPhase() {
    return this.#active ? 2 : 0;
  }
  get cancelBubble() {
    return !this.#propagation;
  }
  set cancelBubble(v) {
    if (v) this.#propagation = false;
  }
  composedPath() {
    return this.#active ? [this.#current] : [];
  }
  preventDefault() {
    if (this.#cancelable) this.#prevented = true;
  }
  stopPropagation() {
    this.#propagation = false;
  }
  stopImmediatePropagation() {
    this.#stopped = true;
    this.#propagation = false;
  }
}
each(["NONE", "CAPTURING_PHASE", "AT_TARGET", "BUBBLING_PHASE"], (name, value) =>
  each([Event, Event.prototype], (o) => defineProperty(o, name, { __proto__: null, value, enumerable: true })),
);
tag(Event, "Event");
class CustomEvent extends Event {
  #detail;
  constructor(type, init) {
    super(type, init);
    this.#detail = init?.detail ?? null;
  }
  get detail() {
    return this.#detail;
  }
}
tag(CustomEvent, "CustomEvent");

let dispatch;
class EventTarget {
  #listeners = new Map();
  static {
    dispatch = (target, event) => {
      setTarget(event, target, true);
      const list = mapGet(target.#listeners, event.type);
      if (list !== undefined) {
        const copy = mapped(list, (l) => l);
        for (let i = 0; i < copy.length && !wasStopped(event); i++) {
          const l = copy[i];
          if (l.gone) continue;
          if (l.once) target.#remove(event.type, l);
          try {
            typeof l.fn === "function" ? apply(l.fn, target, [event]) : l.fn.handleEvent(event);
          } catch (e) {
            write("error", ["Uncaught", e]);
          }
        }
      }
      setTarget(event, target, false);
      return !event.defaultPrevented;
    };
  }
  #remove(type, one) {
    one.gone = true;
    const left = filtered(mapGet(this.#listeners, type) ?? [], (l) => l !== one);
    if (left.length) mapSet(this.#listeners, type, left);
    else mapDelete(this.#listeners, type);
  }
  addEventListener(type, fn, options) {
    if (arguments.length < 2) throw new TypeError("addEventListener needs a type and a listener");
    type = String(type);
    const o = isObject(options) ? options : { __proto__: null, capture: !!options },
      capture = !!o.capture,
      signal = o.signal;
    if (signal !== undefined && !isSignal(signal)) throw new TypeError("The signal of a listener must be an AbortSignal");
    if (fn === null || fn === undefined) return;
    if (!isObject(fn)) throw new TypeError("A listener must be a function or an object");
    if (signal?.aborted) return;
    const list = mapGet(this.#listeners, type) ?? [];
    for (let i = 0; i < list.length; i++) if (list[i].fn === fn && list[i].capture === capture) return;
    const one = { __proto__: null, fn, capture, once: !!o.once, gone: false };
    push(list, one);
    mapSet(this.#listeners, type, list);
    if (signal) onAbort(signal, () => this.#remove(type, one));
  }
  removeEventListener(type, fn, options) {
    const capture = isObject(options) ? !!options.capture : !!options,
      list = mapGet(this.#listeners, (type = String(type))) ?? [];
    for (let i = 0; i < list.length; i++)
      if (list[i].fn === fn && list[i].capture === capture) {
        this.#remove(type, list[i]);
        return;
      }
  }
  dispatchEvent(event) {
    if (!(event instanceof Event)) throw new TypeError("dispatchEvent needs an Event");
    if (dispatching(event)) throw domError("The event is already being dispatched", "InvalidStateError");
    return dispatch(this, event);
  }
}
tag(EventTarget, "EventTarget");

let abortSignal, newSignal, isSignal, onAbort, offAbort;
const theKey = Symbol("ours");
class AbortSignal extends EventTarget {
  #aborted = false;
  #reason;
  #steps = [];
  #onabort = null;
  static {
    newSignal = () => new AbortSignal(theKey);
    isSignal = (v) => isObject(v) && #aborted in v;
    // onAbort lets the prelude's own steps run before any listener; they are removed by offAbort.
    onAbort = (s, fn) => {
      push(s.#steps, fn);
    };
    offAbort = (s, fn) => {
      s.#steps = filtered(s.#steps, (f) => f !== fn);
    };
    abortSignal = (s, reason) => {
      if (s.#aborted) return;
      s.#aborted = true;
      s.#reason = reason === undefined ? domError("This operation was aborted", "AbortError") : reason;
      const steps = s.#steps;
      s.#steps = [];
      each(steps, (fn) => fn(s.#reason));
      dispatch(s, new Event("abort"));
    };
  }
  constructor(key) {
    if (key !== theKey) throw new TypeError("Illegal constructor");
    super();
  }
  get aborted() {
    return this.#aborted;
  }
  get reason() {
    return this.#reason;
  }
  get onabort() {
    return this.#onabort?.fn ?? null;
  }
  set onabort(fn) {
    const old = this.#onabort;
    if (old) this.removeEventListener("abort", old.run);
    this.#onabort = null;
    if (typeof fn !== "function") return;
    const run = (e) => apply(fn, this, [e]);
    this.#onabort = { __proto__: null, fn, run };
    this.addEventListener("abort", run);
  }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }
  static abort(reason) {
    const s = newSignal();
    abortSignal(s, reason);
    return s;
  }
  static timeout(ms) {
    if (typeof ms !== "number") throw new TypeError("The timeout of a signal must be a number");
    if (!(ms >= 0) || !isFinite(ms)) throw new RangeError("The timeout of a signal must not be negative");
    const s = newSignal();
    arm(() => abortSignal(s, domError("The operation was aborted due to timeout", "TimeoutError")), ms, [], false);
    return s;
  }
  static any(signals) {
    const list = sequence(signals);
    each(list, (one) => {
      if (!isSignal(one)) throw new TypeError("AbortSignal.any needs signals");
    });
    const s = newSignal();
    for (let i = 0; i < list.length; i++)
      if (list[i].#aborted) {
        s.#aborted = true;
        s.#reason = list[i].#reason;
        return s;
      }
    const stop = (reason) => {
      each(list, (one) => offAbort(one, stop));
      abortSignal(s, reason);
    };
    each(list, (one) => onAbort(one, stop));
    return s;
  }
}
tag(AbortSignal, "AbortSignal");
// heeding waits for what begin gives, or for a signal that is aborted before: then stop is called. It leaves nothing at the signal.
const heeding = async (signal, stop, begin) => {
  if (signal === null) return await begin();
  if (signal.aborted) {
    stop();
    throw signal.reason;
  }
  const result = defer(),
    heard = (reason) => {
      stop();
      result.reject(reason);
    };
  onAbort(signal, heard);
  try {
    then(begin(), result.resolve, result.reject);
    return await result.promise;
  } finally {
    offAbort(signal, heard);
  }
};
class AbortController {
  #signal = newSignal();
  get signal() {
    return this.#signal;
  }
  abort(reason) {
    abortSignal(this.#signal, reason);
  }
}
tag(AbortController, "AbortController");
offer({ DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController });
