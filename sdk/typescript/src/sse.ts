import { SvcError } from "./error.js";

/** Frame is one server-sent event. */
export interface Frame {
  event: string;
  data: string;
}

/** The service's longest frame is one message of 64 MiB, escaped. More than this is not one of ours. */
const longest = 256 * 1024 * 1024;

/** Frames takes the bytes of a stream apart, wherever they were cut. Comments, ids and retry times are passed over. */
export class Frames {
  readonly #decoder = new TextDecoder();
  #lines: string[] = []; // pieces of the line that is not whole yet
  #length = 0; // of those and of the frame
  #event = "";
  #data: string[] = [];
  #afterReturn = false;

  /** push adds bytes and gives the frames that they complete. */
  *push(bytes: Uint8Array): Generator<Frame, void, void> {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return;
    // A CR that ended the last bytes has ended its line; the LF behind it ends nothing.
    if (this.#afterReturn && text[0] === "\n") text = text.slice(1);
    this.#afterReturn = text === "" ? false : text.endsWith("\r");
    const pieces = text.split(/\r\n|\r|\n/);
    for (let i = 0; i < pieces.length; i++) {
      const piece = pieces[i]!;
      if ((this.#length += piece.length) > longest) throw new SvcError({ type: "frame_too_large", message: "A frame is too long." });
      if (piece !== "") this.#lines.push(piece);
      if (i === pieces.length - 1) return;
      const line = this.#lines.length === 1 ? this.#lines[0]! : this.#lines.join("");
      this.#lines = [];
      const frame = this.#take(line);
      if (frame) yield frame;
    }
  }

  /** take adds a line to the frame; an empty one ends it. */
  #take(line: string): Frame | undefined {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const name = colon < 0 ? line : line.slice(0, colon);
    if (name !== "event" && name !== "data") return undefined;
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event") this.#event = value;
    else this.#data.push(value);
    return undefined;
  }

  #end(): Frame | undefined {
    const frame = this.#data.length === 0 ? undefined : { event: this.#event || "message", data: this.#data.join("\n") };
    this.#event = "";
    this.#data = [];
    this.#length = 0;
    return frame;
  }
}
