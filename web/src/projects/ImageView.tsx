import { useEffect, useState, type ReactNode } from "react";
import { imageTypeOf, nameOf } from "./path";

export interface ImageViewProps {
  path: string;
  blob: Blob;
  /** What is shown, and what the file holds now. */
  shown?: string | undefined;
  etag?: string | undefined;
  onStale?: () => void;
}

/** ImageView is a picture, drawn from what was read: no address of the service is shown as a picture. */
export function ImageView({ path, blob, shown, etag, onStale }: ImageViewProps): ReactNode {
  const [address, setAddress] = useState<string>();
  const [size, setSize] = useState<string>();
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(blob.slice(0, blob.size, imageTypeOf(path)));
    setAddress(made);
    setBroken(false);
    return () => URL.revokeObjectURL(made);
  }, [blob, path]);
  useEffect(() => {
    if (etag && shown && etag !== shown) onStale?.();
  }, [etag, shown, onStale]);
  if (broken) return <p className="picture dim">This picture cannot be drawn.</p>;
  return (
    <figure className="picture" tabIndex={0} aria-label={nameOf(path)}>
      {address && <img src={address} alt={nameOf(path)} onLoad={(event) => setSize(`${event.currentTarget.naturalWidth} × ${event.currentTarget.naturalHeight}`)} onError={() => setBroken(true)} />}
      <figcaption className="faint t12 num">{size}</figcaption>
    </figure>
  );
}
