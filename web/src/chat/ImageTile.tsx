import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";

/** ImageTile is an image in a box that is there before it: nothing moves when it comes. */
export function ImageTile({ url, name, onRemove }: { url: string | undefined; name: string; onRemove?: () => void }): ReactNode {
  const [broken, setBroken] = useState(false);
  return (
    <span className="tile" title={name}>
      {url && !broken ? (
        <a href={url} target="_blank" rel="noopener noreferrer" aria-label={`Open ${name}`}>
          <img src={url} alt={name} onError={() => setBroken(true)} />
        </a>
      ) : (
        <span className="tile-none"><Icon name="image" /> <span className="trunc">{name}</span></span>
      )}
      {onRemove && <Button small icon="x" label={`Remove ${name}`} onClick={onRemove} />}
    </span>
  );
}
