import { useCallback, useEffect, useMemo, useState } from "react";
import { serverNow } from "../server/clock";
import { Axis, followed, panned, waitsOf, whole, zoomed, type View } from "./axis";
import type { Folded } from "./fold";
import type { Told } from "./useRunEvents";

export interface Looking {
  readonly axis: Axis;
  readonly view: View;
  /** Whether the view goes with a live run. To zoom or to pan ends that. */
  readonly following: boolean;
  readonly follow: () => void;
  readonly fit: () => void;
  /** By so much closer, around a share of the view. */
  readonly zoom: (factor: number, share?: number) => void;
  readonly pan: (share: number) => void;
  readonly show: (view: View) => void;
  /** The present, since the start of the run; its end where it has ended. */
  readonly now: () => number;
  /** Told of every frame: a live view takes its next step. */
  readonly step: () => void;
}

/** useView is which part of a run's time is seen. */
export function useView(told: Told<Folded>, live: boolean): Looking {
  const { fold } = told;
  const now = useCallback(() => (live && fold.startedAt !== undefined ? Math.max(serverNow() - fold.startedAt, fold.last) : fold.duration ?? fold.last), [fold, live, told]);
  const axis = useMemo(() => new Axis(waitsOf(fold, now()), now()), [fold, told, now]);
  const end = axis.placeOf(now());
  const [chosen, setChosen] = useState<View>();
  const [stepped, setStepped] = useState<View>(() => followed(undefined, end));
  const following = chosen === undefined;
  const step = useCallback(() => setStepped((before) => followed(before, axis.placeOf(now()))), [axis, now]);
  useEffect(step, [step]);
  const view = chosen ?? (live ? stepped : whole(end));
  const zoom = useCallback((factor: number, share = 0.5) => setChosen(zoomed(view, factor, view.from + share * (view.to - view.from), end)), [view, end]);
  const pan = useCallback((share: number) => setChosen(panned(view, share * (view.to - view.from), end)), [view, end]);
  const fit = useCallback(() => setChosen(live ? whole(end) : undefined), [live, end]);
  return { axis, view, following, follow: () => setChosen(undefined), fit, zoom, pan, show: setChosen, now, step };
}
