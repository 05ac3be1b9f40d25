// What readable and writable streams share: queues with sizes, and strategies.
class Queue {
  items = [];
  head = 0;
  total = 0;
  get length() {
    return this.items.length - this.head;
  }
  add(value, size) {
    push(this.items, { __proto__: null, value, size });
    this.total += size;
  }
  peek() {
    return this.items[this.head].value;
  }
  take() {
    const one = this.items[this.head];
    this.items[this.head++] = undefined;
    // A long queue is not moved for every piece that leaves it.
    if (this.head > 64 && this.head * 2 > this.items.length) {
      const left = [];
      for (let i = this.head; i < this.items.length; i++) push(left, this.items[i]);
      this.items = left;
      this.head = 0;
    }
    this.total = max(0, this.total - one.size);
    return one.value;
  }
  clear() {
    this.items = [];
    this.head = 0;
    this.total = 0;
  }
}
setPrototypeOf(Queue.prototype, null);
const checkedSize = (size) => {
  size = Number(size);
  if (isNaN(size) || size < 0 || size === Infinity) throw new RangeError("The size of a chunk must be a finite number that is not negative");
  return size;
};
const markOf = (strategy, otherwise) => {
  if (strategy === undefined || strategy === null) return otherwise;
  if (!isObject(strategy)) throw new TypeError("A queuing strategy must be an object");
  const mark = strategy.highWaterMark;
  if (mark === undefined) return otherwise;
  const n = Number(mark);
  if (isNaN(n) || n < 0) throw new RangeError("The highWaterMark must be a number that is not negative");
  return n;
};
const sizeOf = (strategy) => {
  const size = strategy?.size;
  if (size === undefined) return () => 1;
  if (typeof size !== "function") throw new TypeError("The size of a queuing strategy must be a function");
  return (chunk) => size(chunk);
};
// algorithm is a method of a source, a sink or a transformer, as a function that never throws: it gives a promise.
const algorithm = (o, name) => {
  const fn = o?.[name];
  if (fn === undefined) return null;
  if (typeof fn !== "function") throw new TypeError(name + " must be a function");
  return (...args) => {
    try {
      return resolvedWith(apply(fn, o, args));
    } catch (e) {
      return rejectedWith(e);
    }
  };
};
const done = resolvedWith(undefined);
const strategySize = {
  ByteLength: {
    size(chunk) {
      return chunk.byteLength;
    },
  }.size,
  Count: {
    size() {
      return 1;
    },
  }.size,
};
class ByteLengthQueuingStrategy {
  #mark;
  constructor(init) {
    if (!isObject(init) || init.highWaterMark === undefined) throw new TypeError("A queuing strategy needs a highWaterMark");
    this.#mark = Number(init.highWaterMark);
  }
  get highWaterMark() {
    return this.#mark;
  }
  get size() {
    return strategySize.ByteLength;
  }
}
class CountQueuingStrategy {
  #mark;
  constructor(init) {
    if (!isObject(init) || init.highWaterMark === undefined) throw new TypeError("A queuing strategy needs a highWaterMark");
    this.#mark = Number(init.highWaterMark);
  }
  get highWaterMark() {
    return this.#mark;
  }
  get size() {
    return strategySize.Count;
  }
}
tag(ByteLengthQueuingStrategy, "ByteLengthQueuingStrategy");
tag(CountQueuingStrategy, "CountQueuingStrategy");
offer({ ByteLengthQueuingStrategy, CountQueuingStrategy });
