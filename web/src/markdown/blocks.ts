import { Lexer, type Token } from "marked";

/** Block is a top-level piece of Markdown. The same object as long as its text is the same. */
export interface Block {
  readonly raw: string;
  readonly token: Token;
}

/** So many blocks at the end may still become something else when text follows: a paragraph a heading, an item part of a list. */
const open = 2;

/**
 * Blocks parses a text that grows. Only its end is parsed again: what stands before cannot change any more. Links that are defined
 * elsewhere are found when the text is complete, and parsed as a whole.
 */
export class Blocks {
  #closed: Block[] = [];
  #closedText = "";
  #last: readonly Block[] = [];
  #text: string | undefined;
  #whole = false;

  of(text: string, complete: boolean): readonly Block[] {
    if (text === this.#text && this.#whole === complete) return this.#last;
    if (complete && !/^ {0,3}\[[^\]]+\]:/m.test(text) && this.#text === text) {
      this.#whole = true; // nothing in it was waiting for its end
      return this.#last;
    }
    if (complete || !text.startsWith(this.#closedText)) this.#forget();
    const tail = text.slice(this.#closedText.length);
    const fresh = parse(tail);
    const before = new Map(this.#last.map((block) => [block.raw, block]));
    const shown = [...this.#closed, ...fresh.map((block) => before.get(block.raw) ?? block)];
    if (!complete) this.#close(fresh);
    this.#text = text;
    this.#whole = complete;
    return (this.#last = shown);
  }

  #forget(): void {
    this.#closed = [];
    this.#closedText = "";
  }

  #close(fresh: readonly Block[]): void {
    const last = fresh.length - open;
    for (const block of fresh.slice(0, Math.max(0, last))) {
      this.#closed.push(block);
      this.#closedText += block.raw;
    }
  }
}

/** parse splits a text. White space between blocks belongs to the one before, so that the blocks are the text. */
function parse(text: string): Block[] {
  const blocks: { raw: string; token: Token }[] = [];
  for (const token of new Lexer({ gfm: true }).lex(text)) {
    const last = blocks.at(-1);
    if (token.type === "space" && last) last.raw += token.raw;
    else blocks.push({ raw: token.raw, token });
  }
  return blocks;
}
