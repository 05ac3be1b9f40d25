import { useEffect, useState } from "react";
import type { Asked, Mark, Told } from "./marks";

/** So many programs are kept coloured: a row that comes back into view is as it was. */
const most = 200;

type Marks = readonly Mark[] | undefined;

/** Marker has programs coloured beside the page, which goes on meanwhile. What colours them is loaded with the first. */
export class Marker {
  readonly #start: () => Worker;
  readonly #kept = new Map<string, Marks>(); // the one that was asked for last stands last
  readonly #asked = new Map<number, { text: string; tell: (marks: Marks) => void }>();
  #worker: Worker | undefined;
  #count = 0;

  constructor(start: () => Worker) {
    this.#start = start;
  }

  /** of is what is known of a program by now. */
  of(text: string): Marks {
    return this.#kept.get(text);
  }

  /** colour tells the marks of a program, and nothing where it cannot be coloured. It can be called off. */
  colour(text: string, tell: (marks: Marks) => void): () => void {
    const id = ++this.#count;
    if (this.#kept.has(text)) {
      const marks = this.#kept.get(text);
      this.#keep(text, marks);
      tell(marks);
      return () => {};
    }
    this.#asked.set(id, { text, tell });
    this.#worker ??= this.#begun();
    this.#worker.postMessage({ id, text } satisfies Asked);
    return () => this.#asked.delete(id);
  }

  #begun(): Worker {
    const worker = this.#start();
    worker.onmessage = ({ data: { id, marks } }: MessageEvent<Told>) => {
      const asked = this.#asked.get(id);
      this.#asked.delete(id);
      if (!asked) return;
      this.#keep(asked.text, marks);
      asked.tell(marks);
    };
    return worker;
  }

  #keep(text: string, marks: Marks): void {
    this.#kept.delete(text);
    this.#kept.set(text, marks);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > most && oldest !== undefined) this.#kept.delete(oldest);
  }
}

const marker = new Marker(() => new Worker(new URL("./marks.worker.ts", import.meta.url), { type: "module" }));

/** useMarks are the marks of a program that is complete; undefined until they are known, and where there are none. */
export function useMarks(text: string, complete: boolean): Marks {
  const [found, setFound] = useState<{ text: string; marks: Marks }>();
  const known = marker.of(text);
  const wanted = complete && known === undefined;
  useEffect(() => (wanted ? marker.colour(text, (marks) => setFound({ text, marks })) : undefined), [text, wanted]);
  return complete ? known ?? (found?.text === text ? found.marks : undefined) : undefined;
}
