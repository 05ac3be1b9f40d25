/** isHidden reports whether there is a page, and nobody sees it. */
export function isHidden(): boolean {
  return typeof document !== "undefined" && document.visibilityState === "hidden";
}

/** onHidden calls back when the page is hidden, until it is released. */
export function onHidden(call: () => void): () => void {
  if (typeof document === "undefined") return () => {};
  const look = (): void => {
    if (isHidden()) call();
  };
  document.addEventListener("visibilitychange", look);
  return () => document.removeEventListener("visibilitychange", look);
}

/** untilVisible waits until somebody sees the page. */
export function untilVisible(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (!signal?.aborted && isHidden()) return;
      document.removeEventListener("visibilitychange", look);
      signal?.removeEventListener("abort", look);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    if (signal?.aborted || !isHidden()) return signal?.aborted ? reject(signal.reason) : resolve();
    document.addEventListener("visibilitychange", look);
    signal?.addEventListener("abort", look);
  });
}
