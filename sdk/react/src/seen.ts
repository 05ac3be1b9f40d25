/** onSeen calls back when somebody turns to the page, until it is released. */
export function onSeen(call: () => void): () => void {
  if (typeof document === "undefined") return () => {};
  const look = (): void => {
    if (document.visibilityState !== "hidden") call();
  };
  document.addEventListener("visibilitychange", look);
  globalThis.addEventListener("focus", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    globalThis.removeEventListener("focus", look);
  };
}
