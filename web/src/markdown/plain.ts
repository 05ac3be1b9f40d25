const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", hellip: "…", mdash: "—", ndash: "–", rarr: "→", larr: "←", times: "×" };

/** decoded is a text whose entities are the characters that they stand for. */
export function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]+));/g, (whole, decimal: string, hex: string, name: string) => {
    if (name) return named[name] ?? whole;
    const code = decimal ? Number(decimal) : parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
  });
}

const turning = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;

/** plain makes characters visible that turn the direction of what follows: a text must not look like another. */
export function plain(text: string): string {
  return text.replace(turning, (sign) => `[U+${sign.charCodeAt(0).toString(16).toUpperCase()}]`);
}
