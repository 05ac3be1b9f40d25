import { Suspense, useMemo, type ReactNode } from "react";
import { part } from "../server/part";
import { ImageView } from "./ImageView";
import { lookOf } from "./path";

const Markdown = part(() => import("../markdown/Markdown").then((of) => of.Markdown));

/** Preview is what a text looks like: Markdown as a page, a drawing as a picture, in which nothing runs. */
export function Preview({ path, text }: { path: string; text: string }): ReactNode {
  const blob = useMemo(() => new Blob([text]), [text]);
  if (lookOf(path) === "drawing") return <ImageView path={path} blob={blob} />;
  return (
    <div className="body preview" tabIndex={0} role="region" aria-label="Preview">
      <Suspense fallback={null}>
        <Markdown text={text} />
      </Suspense>
    </div>
  );
}
