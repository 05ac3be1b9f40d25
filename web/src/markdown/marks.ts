/** Mark is a run of characters that are shown alike: `s` a string, `v` a number, `c` a comment, `w` a word of the language. */
export interface Mark {
  readonly kind: "s" | "v" | "c" | "w" | undefined;
  readonly text: string;
}

/** Asked is a program to colour, and Told what came of it: nothing where it is too long. */
export interface Asked {
  readonly id: number;
  readonly text: string;
}
export interface Told {
  readonly id: number;
  readonly marks: readonly Mark[] | undefined;
}

/** What is longer is not coloured: it would cost more elements than it helps. */
const most = 20_000;

const words =
  "and as async await break case catch class const continue def default defer do elif else enum export extends false fn for from func function go if impl import in interface is let match mod mut new nil none not null or package pass private public pub raise range return select self static struct switch this throw true try type undefined use var void where while with yield";

const pattern = new RegExp(
  [
    String.raw`(?<c>\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<=^|\s)#(?![0-9a-fA-F]{3,8}\b)[^\n]*|(?<=^|\s)--[ ][^\n]*)`,
    String.raw`(?<s>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\]|\\\\.)*`)",
    String.raw`(?<v>\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b)`,
    String.raw`(?<w>\b(?:${words.split(" ").join("|")})\b)`,
  ].join("|"),
  "gm",
);

/** marksOf colours a program without knowing its language, by what most have in common; undefined: it is too long. */
export function marksOf(text: string): readonly Mark[] | undefined {
  if (text.length > most) return undefined;
  const marks: Mark[] = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > at) marks.push({ kind: undefined, text: text.slice(at, found.index) });
    const kind = (["c", "s", "v", "w"] as const).find((name) => found.groups?.[name] !== undefined);
    marks.push({ kind, text: found[0] });
    at = found.index + found[0].length;
  }
  if (at < text.length) marks.push({ kind: undefined, text: text.slice(at) });
  return marks;
}
