import { lazy, Suspense, useMemo, type ReactNode } from "react";
import { ImageView } from "./ImageView";
import { lookOf } from "./path";

const Markdown = lazy(() => import("./Markdown").then((of) => ({ default: of.Markdown })));

/** Preview is what a text looks like: Markdown as a page, a drawing as a picture, in which nothing runs. */
export function Preview({ path, text }: { path: string; text: string }): ReactNode {
  const blob = useMemo(() => new Blob([text]), [text]);
  if (lookOf(path) === "drawing") return <ImageView path={path} blob={blob} />;
  return (
    <div className="body prose" tabIndex={0} role="region" aria-label="Preview">
      <Suspense fallback={null}>
        <Markdown text={text} />
      </Suspense>
    </div>
  );
}
