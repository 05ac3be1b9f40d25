// The bridge to Go, and acts. These words are for further preludes too:
//   entrances   functions that Go calls by name, the act's id first; they begin with enter(act)
//   shared      what the main script finds in __svc
//   current     the act that the running turn is done for; what a turn begins inherits it
//   enter       makes an act the current one, and gives its record: { id, silent, signal(), onAbort(), … } and whatever a caller puts there
//   sync, call  ask Go for an operation: its answer, or a promise of it. Values cross as strings, numbers, booleans and null
//   ask         asks for something in the act's next wave: a promise of its answer. Until then its record.pending has what a caller marked it
//               with: what it is, the function that belongs to it, and how its answer is read
//   finish      does an act's work and tells Go its result, a string or nothing; shape makes that of what the work gave. follow and failed
//               are its parts
//   told        an error as Go reads it, with what `extra` knows of a caller's own errors; toError the way back, where `kinds` makes those
//   clock, chance, entropy  the sources of Date.now, Math.random and crypto: a caller may set others
const entrances = { __proto__: null },
  shared = { __proto__: null };
// What a step of a run crosses with has functions of its own.
const rawSync = hostSync,
  rawAsync = hostAsync,
  rawAsk = hostAsk,
  rawFinish = hostFinish;
// named names a function, and returns it.
shared.named = hostNamed;
delete globalThis.hostSync;
delete globalThis.hostAsync;
delete globalThis.hostAsk;
delete globalThis.hostFinish;
delete globalThis.hostNamed;

let current = 0,
  lastId = 0;
const nextId = () => ++lastId;

class ActRecord {
  constructor(id) {
    this.id = id;
  }
  signal() {
    return (this.aborted ??= newSignal());
  }
  onAbort(fn) {
    push((this.leavers ??= []), fn);
  }
  abort(reason) {
    abortSignal(this.signal(), reason);
    const list = this.leavers ?? [];
    this.leavers = null;
    each(list, (fn) => fn(reason));
  }
}
setPrototypeOf(ActRecord.prototype, null);
// Most acts need none of these.
ActRecord.prototype.pending = null; // what a wave was asked for, by id; null until there is some
ActRecord.prototype.called = 0; // the id of the last call that had the place for one, of which most acts wait for one at a time
ActRecord.prototype.call = null; // that call, until it is settled
ActRecord.prototype.calls = null; // those beside it, by id
ActRecord.prototype.timers = null;
ActRecord.prototype.aborted = null; // the signal, once somebody asks for it
ActRecord.prototype.leavers = null;
ActRecord.prototype.silent = false; // nothing of it goes on when it has ended: another engine takes it up
const acts = new Table(),
  ground = new ActRecord(0);
acts.set(0, ground);
const enter = (act) => {
  current = act;
  let record = acts.get(act);
  if (record === undefined) acts.set(act, (record = new ActRecord(act)));
  return record;
};
// here is the record of the current act; what goes on after its act was forgotten belongs to nobody.
const here = () => acts.get(current) ?? ground;
// isOver reports whether the current act has ended: what it begins then never comes to an end.
const isOver = () => current !== 0 && !acts.has(current);

function sync(op, a, b, c, d, e, f) {
  try {
    return rawSync(op, 0, current, a, b, c, d, e, f);
  } catch (x) {
    throw fromHost(x);
  }
}
function callAs(id, op, a, b, c, d, e, f) {
  const record = acts.get(current),
    made = withResolvers();
  if (record === undefined) return made.promise; // the act is over
  keepCall(record, id, made);
  try {
    rawAsync(op, id, record.id, a, b, c, d, e, f);
  } catch (x) {
    takeCall(record, id).reject(fromHost(x));
  }
  return made.promise;
}
const keepCall = (record, id, made) => {
  if (record.call === null) {
    record.called = id;
    record.call = made;
  } else (record.calls ??= new Table()).set(id, made);
};
const takeCall = (record, id) => {
  let made;
  if (record.called === id) {
    made = record.call;
    record.call = null;
  } else if (record.calls !== null) {
    made = record.calls.get(id);
    record.calls.delete(id);
  }
  return made ?? undefined;
};
const call = (op, a, b, c, d, e, f) => callAs(nextId(), op, a, b, c, d, e, f);
const ask = (act, kind, a, b, what, fn, read) => {
  const record = acts.get(act);
  if (record === undefined) return rejectedWith(domError("What asked has ended here", "AbortError"));
  const id = ++lastId,
    { promise, resolve, reject } = withResolvers();
  (record.pending ??= new Table()).set(id, { __proto__: null, promise, resolve, reject, what, fn, read });
  rawAsk(act, id, kind, a, b);
  return promise;
};

// Errors.
const kinds = {
  __proto__: null,
  TypeError: (e) => new TypeError(e.message),
  RangeError: (e) => new RangeError(e.message),
  SyntaxError: (e) => new SyntaxError(e.message),
};
const toError = (text) => {
  const e = jsonParse(text);
  if (e.dom) return domError(e.message, e.name, e.type);
  const make = kinds[e.name];
  const error = make ? make(e) : new Error(e.message);
  if (error.name !== e.name && e.name) hidden(error, "name", e.name);
  each(["type", "details", "meta", "status"], (k) => {
    if (e[k] !== undefined && error[k] === undefined) error[k] = e[k];
  });
  return error;
};
// fromHost makes an error of what Go told as one. What the engine itself threw stays.
const fromHost = (x) => (typeof x === "string" ? toError(x) : x);
// extra gives what a caller's own errors carry beside name and message: type, details, meta, status.
let extra = () => undefined;
const unsupportedErrors = new WeakSet();
const told = (e) => {
  const out = { __proto__: null, name: "Error", message: "" };
  try {
    if (!isObject(e)) {
      out.message = typeof e === "symbol" ? symbolToString(e) : String(e);
      return jsonStringify(out);
    }
    if (typeof e.name === "string") out.name = e.name;
    out.message = String(e.message ?? show(e));
    if (typeof e.stack === "string") out.stack = e.stack;
    if (weakSetHas(unsupportedErrors, e)) out.type = "unsupported";
    const more = extra(e);
    if (more)
      each(["type", "details", "meta", "status"], (k) => {
        if (more[k] !== undefined) out[k] = more[k];
      });
    return jsonStringify(out);
  } catch {
    return '{"name":"Error","message":"the error cannot be read"}';
  }
};
// unsupported is what a program meets that uses what is not here: the name, and what to use instead.
const unsupported = (what, instead) => {
  const e = domError(what + " is not supported" + (instead ? ": " + instead : "") + ".", "NotSupportedError");
  weakSetAdd(unsupportedErrors, e);
  e.type = "unsupported";
  return e;
};

// leaves forgets an act that has ended and nothing of which goes on, and reports whether it did: Go need not say so then.
const leaves = (act) => {
  const record = acts.get(act);
  if (record === undefined || !record.silent || record.pending !== null || record.called !== 0 || record.timers !== null) return false;
  acts.delete(act);
  return true;
};
const failed = (act, e) => {
  sync("failed", act, told(e));
};
const succeeded = (act, v, shape) => {
  try {
    if (shape !== undefined) v = shape(v);
  } catch (e) {
    failed(act, e);
    return;
  }
  rawFinish(act, v, leaves(act));
};
// follow tells Go the result of what was begun, now or when it comes.
const follow = (act, begun, shape) => {
  if ((typeof begun !== "object" || begun === null) && typeof begun !== "function") succeeded(act, begun, shape);
  else
    then(
      resolvedWith(begun),
      (v) => succeeded(act, v, shape),
      (e) => failed(act, e),
    );
};
const finish = (act, work, shape) => {
  try {
    follow(act, work(), shape);
  } catch (e) {
    failed(act, e);
  }
};

entrances.begin = (main) => {
  then(
    main(shared),
    () => {
      sync("loaded", true);
    },
    (e) => {
      sync("loaded", false, told(e));
    },
  );
};
entrances.settle = (act, id, ok, value) => {
  const record = acts.get(act);
  if (record === undefined) return;
  const asked = record.pending === null ? undefined : record.pending.get(id);
  if (asked !== undefined) record.pending.delete(id);
  const d = asked ?? takeCall(record, id);
  if (d === undefined) return;
  current = act;
  if (!ok) d.reject(toError(value));
  else d.resolve(asked === undefined || asked.read === undefined ? value : asked.read(value));
};
entrances.forget = (act) => {
  const record = acts.get(act);
  current = 0;
  acts.delete(act);
  if (record === undefined) return;
  if (record.timers !== null && mapSize(record.timers) > 0) sync("forget", act);
  if (record.silent) return;
  if (record.call !== null) cutOff(record.call);
  if (record.calls !== null) record.calls.forEach(cutOff);
};
// cutOff rejects what an act waited for: others may wait for it too. Nobody has to handle that.
const cutOffs = new WeakSet();
const cutOff = (made) => {
  const e = domError("What began this has ended", "AbortError");
  weakSetAdd(cutOffs, e);
  made.reject(e);
};
// become goes on for another act: a promise of this one's turn has settled for it.
entrances.become = (act) => {
  current = act;
};
entrances.abort = (act, why) => {
  if (acts.has(act)) enter(act).abort(toError(why));
};
entrances.where = (reason) => {
  sync("where", told(reason));
};
entrances.reject = (reason) => {
  if (isObject(reason) && weakSetHas(cutOffs, reason)) return;
  sync("log", "error", "Unhandled rejection: " + show(reason));
};
