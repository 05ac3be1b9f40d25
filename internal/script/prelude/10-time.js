// Timers, the clock, and chance.
let timerSeq = 0;
const timeouts = new WeakMap();
const arm = (fn, ms, args, every) => {
  if (typeof fn !== "function") throw new TypeError("The callback of a timer must be a function, and is " + show(fn));
  ms = Number(ms);
  // As everywhere: what is too long for 32 bits, or no number, is the shortest wait.
  ms = ms >= 1 && ms <= 2147483647 ? trunc(ms) : 1;
  const id = ++timerSeq,
    record = here();
  if (isOver()) return id;
  sync("timer", id, ms);
  (record.timers ??= new Table()).set(id, { __proto__: null, fn, args, every: every ? ms : 0 });
  return id;
};
const disarm = (id) => {
  id = typeof id === "object" ? NaN : Number(id);
  if (!isFinite(id)) return;
  const own = here().timers;
  if (own === null || !own.delete(id))
    acts.forEach((record) => {
      if (record.timers !== null) record.timers.delete(id);
    });
  sync("untimer", id);
};
entrances.timer = (act, id) => {
  const record = acts.get(act),
    t = record && record.timers !== null ? record.timers.get(id) : undefined;
  if (t === undefined) return;
  current = act;
  if (t.every > 0) sync("timer", id, t.every);
  else record.timers.delete(id);
  apply(t.fn, globalThis, t.args);
};
function setTimeout(fn, ms, ...args) {
  return arm(fn, ms, args, false);
}
function setInterval(fn, ms, ...args) {
  return arm(fn, ms, args, true);
}
function setImmediate(fn, ...args) {
  return arm(fn, 1, args, false);
}
const queueMicrotask = (fn) => {
  if (typeof fn !== "function") throw new TypeError("The callback of queueMicrotask must be a function");
  then(resolvedWith(undefined), () => {
    fn();
  });
};
offer({
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout: (id) => disarm(id),
  clearInterval: (id) => disarm(id),
  clearImmediate: (id) => disarm(id),
  queueMicrotask,
});

let clock = realNow,
  chance = realRandom;
const now = () => clock();
// The global Date asks the clock; dates that it makes are the language's own.
const ClockDate = function Date(...args) {
  if (new.target === undefined) return dateToString(new RealDate(clock()));
  return construct(RealDate, args.length === 0 ? [clock()] : args, new.target === ClockDate ? RealDate : new.target);
};
const RealDate = Date;
each(["UTC", "parse"], (name) => hidden(ClockDate, name, RealDate[name]));
hidden(
  ClockDate,
  "now",
  {
    now() {
      return clock();
    },
  }.now,
);
defineProperty(ClockDate, "length", { __proto__: null, value: 7, configurable: true });
defineProperty(ClockDate, "prototype", { __proto__: null, value: RealDate.prototype, writable: false, enumerable: false, configurable: false });
hidden(RealDate.prototype, "constructor", ClockDate);
hidden(
  Math,
  "random",
  {
    random() {
      return chance();
    },
  }.random,
);

const origin = realNow();
class Performance {
  get timeOrigin() {
    return origin;
  }
  now() {
    return sync("elapsed");
  }
  mark() {}
  measure() {}
  clearMarks() {}
  clearMeasures() {}
  getEntries() {
    return [];
  }
  getEntriesByName() {
    return [];
  }
  getEntriesByType() {
    return [];
  }
  toJSON() {
    return { timeOrigin: origin };
  }
}
tag(Performance, "Performance");
offer({ Date: ClockDate, performance: new Performance() });
