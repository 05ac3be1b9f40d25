import { useEffect, useRef, type RefObject } from "react";
import type { Looking } from "./useView";

/** useWheel zooms with Ctrl and the wheel, at the pointer, and pans with a wheel to the side. */
export function useWheel(scroller: RefObject<HTMLElement | null>, looking: Looking, narrow: boolean): void {
  const now = useRef(looking);
  now.current = looking;
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const turn = (event: WheelEvent): void => {
      const lane = element.querySelector(".ruler .x")?.getBoundingClientRect();
      if (!lane) return;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        now.current.zoom(Math.exp(event.deltaY * 0.004), Math.min(1, Math.max(0, (event.clientX - lane.left) / lane.width)));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        event.preventDefault();
        now.current.pan((event.deltaX || event.deltaY) / lane.width);
      }
    };
    // Only a listener that is not passive may keep the browser from zooming the page.
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [scroller, narrow]);
}
