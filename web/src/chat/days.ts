/** Used is something with a time of its last use. */
interface Used {
  readonly usedAt: string;
}

const day = 86_400_000;

/** groupsOf puts what was used into days, in the order given. */
export function groupsOf<T extends Used>(items: readonly T[], now: Date): { name: string; items: T[] }[] {
  const groups: { name: string; items: T[] }[] = [];
  for (const item of items) {
    const name = dayOf(new Date(item.usedAt), now);
    const last = groups.at(-1);
    if (last?.name === name) last.items.push(item);
    else groups.push({ name, items: [item] });
  }
  return groups;
}

function dayOf(at: Date, now: Date): string {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  if (at.getTime() >= today) return "Today";
  if (at.getTime() >= today - day) return "Yesterday";
  if (at.getTime() >= today - 7 * day) return "Last week";
  return at.toLocaleDateString("en-GB", { month: "long", year: "numeric" });
}
