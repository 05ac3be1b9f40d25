import { useEffect, type RefObject } from "react";
import { lasting } from "../kit/amount";
import type { Looking } from "./useView";

/** Texts change so often; bars with every frame. */
const textEvery = 100;

/** useGrowth lets open bars grow and moves the line of now, in one animation frame for all, without rendering. */
export function useGrowth(scroller: RefObject<HTMLElement | null>, looking: Looking, live: boolean, width: number): void {
  useEffect(() => {
    if (!live) return;
    let frame = 0;
    let spoken = 0;
    const grow = (at: number): void => {
      frame = requestAnimationFrame(grow);
      const element = scroller.current;
      if (!element) return;
      const { axis, view } = looking;
      const now = looking.now();
      const place = axis.placeOf(now);
      const length = view.to - view.from;
      const share = (place - view.from) / length;
      const line = element.querySelector<HTMLElement>(".now");
      if (line) line.style.transform = `translateX(${share * width}px)`;
      for (const bar of element.querySelectorAll<HTMLElement>("[data-grows]")) {
        // It fills the room from its start to the edge of the view, and is drawn as far as now.
        const from = Math.max(Number(bar.dataset["grows"]), view.from);
        bar.style.transform = `scaleX(${Math.max(3 / width, (place - from) / Math.max(1, view.to - from))})`;
      }
      for (const label of element.querySelectorAll<HTMLElement>("[data-moves]")) label.style.transform = `translateX(${share * width + 7}px)`;
      if (at - spoken < textEvery) return;
      spoken = at;
      for (const label of element.querySelectorAll<HTMLElement>("[data-since]")) label.textContent = lasting(Math.max(0, now - Number(label.dataset["since"])));
      if (looking.following) looking.step();
    };
    frame = requestAnimationFrame(grow);
    return () => cancelAnimationFrame(frame);
  }, [scroller, looking, live, width]);
}
