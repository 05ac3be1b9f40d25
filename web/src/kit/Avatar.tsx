import type { ReactNode } from "react";

const tones = ["", "b", "c", "d", "e", "g"];

/** Avatar is the two letters of a person, always in the same colour. */
export function Avatar({ name }: { name: string }): ReactNode {
  const letters = initials(name);
  const sum = [...name].reduce((all, letter) => all + (letter.codePointAt(0) ?? 0), 0);
  return (
    <span className={`face ${tones[sum % tones.length]}`} aria-hidden="true">
      {letters}
    </span>
  );
}

export function initials(name: string): string {
  const words = name.split(/[\s._-]+/).filter(Boolean);
  const [first = "", second = ""] = [words[0], words.length > 1 ? words.at(-1) : undefined];
  return ([...first][0] ?? "?").concat(second ? ([...second][0] ?? "") : ([...first][1] ?? "")).toUpperCase();
}
