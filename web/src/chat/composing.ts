/** isComposing reports whether a key belongs to a word that is being composed, as in Japanese: it chooses that word, or drops it. */
export function isComposing({ isComposing, keyCode }: Pick<KeyboardEvent, "isComposing" | "keyCode">): boolean {
  // Safari ends the composition before it tells the key that ended it.
  return isComposing || keyCode === 229;
}
