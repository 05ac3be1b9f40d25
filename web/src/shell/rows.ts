import { nextRow } from "../kit/DataList";

/**
 * toRow leads `j` and `k` to the rows of the page, wherever the focus was: first to the one that is shown or was left, then to the next. A row
 * is what has `data-row`. It reports whether there is one.
 */
export function toRow(key: string): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")].filter((row) => row.checkVisibility());
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const begin = rows.find((row) => row.matches("[aria-current], [aria-selected=true]")) ?? rows.find((row) => row.getAttribute("tabindex") === "0") ?? rows[0];
  const to = at < 0 ? begin : rows[nextRow(key, at, rows.length) ?? at];
  to?.focus();
  return to !== undefined;
}
