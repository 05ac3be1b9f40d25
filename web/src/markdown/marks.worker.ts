import { marksOf, type Asked, type Told } from "./marks";

addEventListener("message", ({ data: { id, text } }: MessageEvent<Asked>) => postMessage({ id, marks: marksOf(text) } satisfies Told));
