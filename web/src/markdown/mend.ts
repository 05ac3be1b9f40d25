/** mend closes what the end of a growing text has left open, so that its signs are not seen to come and go. An open fence is code. */
export function mend(text: string): string {
  const fences = text.match(/^ {0,3}(```|~~~)/gm)?.length ?? 0;
  if (fences % 2 === 1) return text;
  const start = text.lastIndexOf("\n\n") + 1;
  return text.slice(0, start) + mendLine(text.slice(start));
}

function mendLine(text: string): string {
  const ticks = text.split("`").length - 1;
  if (ticks % 2 === 1) return /`$/.test(text) ? text.slice(0, -1) : `${text}\``;
  // A link whose address is still coming is its words.
  const whole = text.replace(/!?\[([^\]]*)\]\([^)\s]*$/, "$1").replace(/!?\[([^\]]*)$/, "$1");
  const bare = whole.replace(/(^|[^*])\*{1,3}$/, "$1").replace(/(^|[^_~])[_~]{1,2}$/, "$1");
  const outside = bare.replace(/`[^`]*`/g, "");
  const strong = (outside.match(/\*\*/g)?.length ?? 0) % 2 === 1 ? "**" : "";
  const stars = outside.replaceAll("**", "").match(/(?<![\s*])\*|\*(?![\s*])/g)?.length ?? 0;
  return bare.trimEnd() === "" ? bare : bare + (stars % 2 === 1 && !/^\s*\*\s/m.test(outside) ? "*" : "") + strong;
}
