/** textIn is the text that bytes hold; undefined: they hold none. A mark at its beginning is kept, so that saving changes nothing but what was typed. */
export async function textIn(blob: Blob): Promise<string | undefined> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  if (bytes.subarray(0, 8_000).includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** breakOf is how the lines of a text end. Where they end in both ways a carriage return is a character like any other. */
export function breakOf(text: string): "\r\n" | "\n" {
  const all = text.match(/\r?\n|\r/g) ?? [];
  return all.length > 0 && all.every((each) => each === "\r\n") ? "\r\n" : "\n";
}

/** How large a text may be to be edited here. */
export const largestText = 2 * 1024 * 1024;
