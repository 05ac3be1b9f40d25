import { useState, type ReactNode } from "react";

const most = 10_000;

/** Clipped is a text whose lines are cut where they are longer than anybody reads, until they are wanted. */
export function Clipped({ text }: { text: string }): ReactNode {
  const [open, setOpen] = useState(false);
  if (open || text.length <= most || !text.split("\n").some((line) => line.length > most)) return text;
  const cut = text.split("\n").map((line) => (line.length > most ? line.slice(0, most) : line));
  return (
    <>
      {cut.join("\n")}
      <button type="button" className="link bare t12" onClick={() => setOpen(true)}>
        Expand
      </button>
    </>
  );
}
