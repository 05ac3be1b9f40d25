import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Segments } from "../kit/Tabs";
import type { Show } from "./rows";
import type { Looked } from "./RunPage";
import type { Looking } from "./useView";

export interface TimelineBarProps {
  looking: Looking;
  looked: Looked;
  show: Show;
  live: boolean;
  failures: number;
  onLook: (next: Looked) => void;
  /** Leads to the next failure. */
  onFailure: () => void;
}

/** TimelineBar finds and filters spans, leads to failures, and fits or follows the run. */
export function TimelineBar({ looking, looked, show, live, failures, onLook, onFailure }: TimelineBarProps): ReactNode {
  return (
    <div className="tlbar filters">
      <span className="find-in">
        <Icon name="search" small />
        <input className="input sm" data-filter aria-label="Find a span" placeholder="Find a span" spellCheck={false} value={looked.find ?? ""} onChange={(event) => onLook({ find: event.target.value })} />
      </span>
      {failures > 0 && (
        <Button look="ghost" className="danger" icon="warn" title="Next failure" onClick={onFailure}>
          {failures} {failures === 1 ? "failure" : "failures"} <kbd className="desk">N</kbd>
        </Button>
      )}
      <span className="grow desk" />
      <Segments label="Show" value={show} onChange={(id) => onLook({ show: id === "all" ? undefined : (id as "slow" | "failed") })} tabs={[{ id: "all", label: "All" }, { id: "slow", label: "Slow path" }, { id: "failed", label: "Failed" }]} />
      <Button look="ghost" icon="zoomin" label="Fit the whole run" className="desk" onClick={looking.fit} />
      {live && (
        <Button aria-pressed={looking.following} className="desk" onClick={looking.follow}>
          <span className={looking.following ? "dot live" : "dot faint"} /> {looking.following ? "Following" : "Follow"}
        </Button>
      )}
    </div>
  );
}
