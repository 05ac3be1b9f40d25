/** So near to the end, in pixels, one has reached it. */
const near = 24;

/**
 * Following keeps the end of a transcript in view while the reader wants it. It ends at once when they go up, by however little, and
 * begins again when they come to the end. Growth never changes it. It alone moves the transcript.
 */
export class Following {
  #on = true;
  #last = 0;
  #own = -1; // where it was moved to by itself
  #touch = 0;
  readonly #view: HTMLElement;
  readonly #tell: (on: boolean) => void;

  constructor(view: HTMLElement, tell: (on: boolean) => void) {
    this.#view = view;
    this.#tell = tell;
  }

  get on(): boolean {
    return this.#on;
  }

  /** listen heeds what the reader does, until it is released. */
  listen(): () => void {
    const stop = new AbortController();
    const { signal } = stop;
    const view = this.#view;
    view.addEventListener("wheel", (event) => event.deltaY < 0 && this.leave(), { passive: true, signal });
    view.addEventListener("touchstart", (event) => (this.#touch = event.touches[0]?.clientY ?? 0), { passive: true, signal });
    view.addEventListener("touchmove", (event) => this.#drag(event.touches[0]?.clientY ?? 0), { passive: true, signal });
    view.addEventListener("keydown", (event) => this.#press(event), { signal });
    view.addEventListener("scroll", () => this.#scrolled(), { passive: true, signal });
    document.addEventListener("selectionchange", () => this.#selected(), { signal });
    this.#last = view.scrollTop;
    return () => stop.abort();
  }

  leave = (): void => this.#set(false);

  /** latest goes to the end and stays there. */
  latest = (): void => {
    this.#set(true);
    this.settle();
  };

  /** settle is called when something has grown. */
  settle = (): void => {
    if (this.#on) this.moveTo(this.#end);
  };

  moveTo(top: number): void {
    const to = Math.max(0, Math.min(top, this.#end));
    if (Math.abs(this.#view.scrollTop - to) < 1) return;
    this.#view.scrollTop = to;
    this.#own = this.#last = this.#view.scrollTop;
  }

  /** look begins to follow where the end is in view: a fold may have brought it there. */
  look = (): void => {
    if (this.#end - this.#view.scrollTop <= near) this.#set(true);
  };

  get #end(): number {
    return this.#view.scrollHeight - this.#view.clientHeight;
  }

  #set(on: boolean): void {
    if (on === this.#on) return;
    this.#on = on;
    this.#tell(on);
  }

  #drag(at: number): void {
    if (at > this.#touch) this.leave();
    this.#touch = at;
  }

  #press(event: KeyboardEvent): void {
    if (event.target instanceof HTMLElement && event.target.closest("input, textarea")) return;
    if (event.key === "End") return this.latest();
    if (["ArrowUp", "PageUp", "Home"].includes(event.key) || (event.key === " " && event.shiftKey)) this.leave();
  }

  #selected(): void {
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && this.#view.contains(selection.anchorNode)) this.leave();
  }

  #scrolled(): void {
    const top = this.#view.scrollTop;
    const before = this.#last;
    this.#last = top;
    if (Math.abs(top - this.#own) < 1) return;
    this.#own = -1;
    // What has shrunk takes the place with it, without anybody moving: then the end is in view.
    if (top < before - 0.5 && this.#end - top > 1) this.leave();
    else if (top > before && this.#end - top <= near) this.#set(true);
  }
}
