/** Of a turn that was never drawn nobody knows the height. */
const guess = 160;

/** Heights are how tall turns are, so that those out of view can be left out. */
export class Heights {
  readonly #known = new Map<string, number>();
  #sum = 0;
  #keys: readonly string[] = [];
  #tops: Float64Array | undefined;

  of(key: string): number {
    return this.#known.get(key) ?? this.average;
  }

  get average(): number {
    return this.#known.size === 0 ? guess : this.#sum / this.#known.size;
  }

  has(key: string): boolean {
    return this.#known.has(key);
  }

  /** set keeps a height, and gives by how much it differs from what was assumed. */
  set(key: string, height: number): number {
    const before = this.#known.get(key);
    const assumed = before ?? this.average;
    if (before === height) return 0;
    this.#sum += height - (before ?? 0);
    this.#known.set(key, height);
    this.#tops = undefined;
    return height - assumed;
  }

  /** tops are where each turn begins, and last where all end. */
  tops(keys: readonly string[]): Float64Array {
    if (this.#tops && this.#keys === keys) return this.#tops;
    const tops = new Float64Array(keys.length + 1);
    for (let i = 0; i < keys.length; i++) tops[i + 1] = tops[i]! + this.of(keys[i]!);
    this.#keys = keys;
    return (this.#tops = tops);
  }

  /** within are the first turn that reaches below a place, and the one behind the last that begins above another. */
  within(keys: readonly string[], from: number, to: number): [number, number] {
    const tops = this.tops(keys);
    return [Math.max(0, above(tops, from) - 1), Math.min(keys.length, above(tops, to))];
  }
}

/** above is how many places are at or above one, of places in their order. */
function above(tops: Float64Array, place: number): number {
  let low = 0;
  let high = tops.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tops[middle]! <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}
