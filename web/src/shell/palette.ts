/** The palette and the map of keys are opened from anywhere by an event: who opens them need not be inside of them. */
const opening = "svc:palette";

export function openPalette(): void {
  dispatchEvent(new Event(opening));
}

export function onPalette(open: () => void): () => void {
  addEventListener(opening, open);
  return () => removeEventListener(opening, open);
}
