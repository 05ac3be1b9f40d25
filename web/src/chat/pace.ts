import { useEffect, useRef, useState } from "react";

/** Text is shown so often at most, in milliseconds: each time a block of Markdown is parsed. */
const tick = 50;
/** Bursts are spread over no more than this, and what is left when a reply ends is shown within it. */
export const longest = 300;

/** Pacer spreads the words of a burst over the usual gap between bursts, so that they seem to be written. */
export class Pacer {
  shown: number;
  #length: number;
  #gap = 100;
  #burstAt: number;
  #from: number;

  /** What is there at the start is shown at once: a reload replays nothing. */
  constructor(length: number, now: number) {
    this.shown = this.#length = this.#from = length;
    this.#burstAt = now;
  }

  /** grow tells of a new burst. */
  grow(length: number, now: number): void {
    if (length === this.#length) return;
    this.at(now); // bursts may come faster than anybody looks
    if (length < this.#length) this.shown = length; // the text is another
    else this.#gap = Math.min(longest, (this.#gap + Math.min(longest, Math.max(tick, now - this.#burstAt))) / 2);
    this.#length = length;
    this.#burstAt = now;
    this.#from = this.shown;
  }

  /** at is how much is shown by now; all of it when the gap is over. */
  at(now: number): number {
    const part = Math.min(1, (now - this.#burstAt) / this.#gap);
    this.shown = Math.max(this.shown, Math.round(this.#from + (this.#length - this.#from) * part));
    return this.shown;
  }

  /** finish shows all of it. */
  finish(): void {
    this.shown = this.#length;
  }

  get behind(): boolean {
    return this.shown < this.#length;
  }
}

/** atOnce is for those who want no motion, and for a page that nobody sees. */
function atOnce(): boolean {
  return document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** usePaced is a text that is being written, as much of it as is to be shown. It ends between words. */
export function usePaced(text: string): string {
  const pacer = useRef<Pacer>(undefined);
  const [, show] = useState(0);
  pacer.current ??= new Pacer(text.length, performance.now());
  const held = pacer.current;
  held.grow(text.length, performance.now());
  if (atOnce()) held.finish();
  const behind = held.behind;
  // It ticks on while the text grows: updates may come faster than it ticks.
  useEffect(() => {
    if (!behind) return;
    const timer = setInterval(() => {
      if (atOnce()) held.finish();
      else held.at(performance.now());
      show((count) => count + 1);
    }, tick);
    return () => clearInterval(timer);
  }, [behind, held]);
  return held.behind ? cutAtWord(text, held.shown) : text;
}

/** cutAtWord is the beginning of a text up to the last whole word before a place. */
export function cutAtWord(text: string, end: number): string {
  if (end >= text.length) return text;
  const space = Math.max(text.lastIndexOf(" ", end), text.lastIndexOf("\n", end));
  return text.slice(0, space > end - 40 && space > 0 ? space : end);
}
