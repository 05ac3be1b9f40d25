const sizes = ["B", "KB", "MB", "GB", "TB", "PB"];

/** bytes is an amount of storage in three figures, by 1024 as the quotas are. */
export function bytes(count: number): string {
  let size = 0;
  let left = count;
  while (Math.abs(left) >= 1024 && size < sizes.length - 1) {
    left /= 1024;
    size++;
  }
  const figures = size === 0 || Math.abs(left) >= 100 ? 0 : Math.abs(left) >= 10 ? 1 : 2;
  return `${Number(left.toFixed(figures))} ${sizes[size]}`;
}

const grouped = new Intl.NumberFormat("en", { useGrouping: true });

/** count is a whole number with a thin space between its thousands. */
export function count(of: number): string {
  return grouped.format(of).replaceAll(",", "\u2009");
}

/** lasting is a duration in milliseconds as people say it. */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}
