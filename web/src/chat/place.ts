import { useCallback, useRef, useState } from "react";
import { useLocation, type ParsedLocation } from "@tanstack/react-router";

/** Place is where somebody reads in a transcript: a row, and how much of it is above the view, in pixels; or its end, which is followed. */
export type Place = { readonly index: number; readonly above: number } | "end";

/**
 * usePlace keeps where somebody was, for each entry of the browser's history: whoever goes back or reloads finds it. The name is of
 * what is shown: while it is the same, another entry is another look at it.
 */
export function usePlace(nameOf: (location: ParsedLocation) => string): { at: Place | undefined; keep: (place: Place) => void } {
  const location = useLocation();
  const entry = useRef({ name: nameOf(location), key: "" });
  // A page is still shown for a moment when the address is that of the next.
  if (nameOf(location) === entry.current.name) entry.current.key = location.state.__TSR_key ?? location.href;
  const [at] = useState(() => read(entry.current.key));
  const keep = useCallback((place: Place) => write(entry.current.key, place), []);
  return { at, keep };
}

function read(key: string): Place | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(`svc.place.${key}`) ?? "") as Place;
  } catch {
    return undefined;
  }
}

function write(key: string, place: Place): void {
  try {
    sessionStorage.setItem(`svc.place.${key}`, JSON.stringify(place));
  } catch {
    // It is only kept for the way back.
  }
}
