/** The palette and the list of keys are opened from anywhere by an event: who opens them need not be inside of them. */
const palette = "svc:palette";
const keys = "svc:keys";

export function openPalette(): void {
  dispatchEvent(new Event(palette));
}

export function openKeys(): void {
  dispatchEvent(new Event(keys));
}

/** onOpen hears which of the two is asked for. */
export function onOpen(open: (which: "palette" | "keys") => void): () => void {
  const one = (): void => open("palette");
  const other = (): void => open("keys");
  addEventListener(palette, one);
  addEventListener(keys, other);
  return () => {
    removeEventListener(palette, one);
    removeEventListener(keys, other);
  };
}
