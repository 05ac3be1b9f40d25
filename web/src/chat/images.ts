import type { Attachment, FilePart } from "@svc/sdk";
import { bytes } from "../kit/amount";

/** The service takes so many characters of base64 for an image. */
export const mostCharacters = 14 * 1024 * 1024;
const mostBytes = Math.floor((mostCharacters * 3) / 4);

/** Chosen is an image that will be sent. */
export interface Chosen {
  readonly id: string;
  readonly name: string;
  /** Where the browser has it. */
  readonly url: string;
  readonly attachment: Attachment;
}

/** Reading is an image that will be sent when it is read. */
export type Reading = Pick<Chosen, "id" | "name">;

let made = 0;

export function readingOf(source: File | FilePart): Reading {
  return { id: `image-${++made}`, name: (source instanceof File ? source.name : source.filename) || "image" };
}

export function isChosen(image: Chosen | Reading): image is Chosen {
  return "attachment" in image;
}

/**
 * chosenOf reads an image, also one that was sent before. One that is too large is made smaller; where that is not possible, it throws a
 * sentence that says its size.
 */
export async function chosenOf(source: File | FilePart, { id, name }: Reading): Promise<Chosen> {
  const file = source instanceof File ? source : await fileOf(source);
  if (!file.type.startsWith("image/")) throw new Error(`${file.name || "This"} is not an image.`);
  const blob = file.size > mostBytes ? await shrunk(file) : file;
  if (!blob || blob.size > mostBytes) throw new Error(`${file.name || "The image"} has ${bytes(file.size)}. Images may have ${bytes(mostBytes)}.`);
  const data = await base64(blob);
  return { id, name, url: URL.createObjectURL(blob), attachment: { type: "image", data, mimeType: blob.type, filename: name } };
}

/** shrunk is the image made smaller, beside the page so that it does not stand still; undefined: the browser cannot read it. */
function shrunk(file: File): Promise<Blob | undefined> {
  const worker = new Worker(new URL("./shrink.worker.ts", import.meta.url), { type: "module" });
  return new Promise<Blob | undefined>((resolve) => {
    worker.onmessage = (event: MessageEvent<Blob | undefined>) => resolve(event.data);
    worker.onerror = () => resolve(undefined);
    worker.postMessage({ file, most: mostBytes });
  }).finally(() => worker.terminate());
}

function base64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(new Error("The image could not be read."));
    reader.readAsDataURL(blob);
  });
}

/** filesIn are the files of what was pasted or dropped. */
export function filesIn(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

/** fileOf is an image that was sent, read again so that it can be sent anew. */
async function fileOf({ url = "", mediaType, filename = "image" }: FilePart): Promise<File> {
  const read = await bytesOf(url).catch(() => {
    throw new Error(`${filename} could not be read. Attach it again.`);
  });
  return new File([read], filename, { type: mediaType });
}

/** bytesOf reads an address. One that holds the bytes itself is not fetched: the policy of the page forbids it. */
async function bytesOf(url: string): Promise<BlobPart> {
  const own = /^data:[^,]*;base64,/.exec(url);
  if (own) return Uint8Array.from(atob(url.slice(own[0].length)), (sign) => sign.charCodeAt(0));
  const answer = await fetch(url);
  if (!answer.ok) throw new Error("The image could not be read.");
  return answer.arrayBuffer();
}
