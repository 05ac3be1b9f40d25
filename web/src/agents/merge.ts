import { allFields, sameValue, type Definition, type FieldName } from "./agent";
import { mergeLines } from "./lines";

/** Merge is what two people made of one definition, put together. */
export interface Merge {
  /** Both changes, where they do not meet; mine where they do. */
  readonly merged: Definition;
  /** The fields that both changed, each in their way: a person chooses. */
  readonly clashes: readonly FieldName[];
  /** The fields of which something of theirs was taken over. */
  readonly taken: readonly FieldName[];
}

/** merge puts together what two people made of the same version. */
export function merge(base: Definition, mine: Definition, theirs: Definition): Merge {
  const merged: Record<string, unknown> = {};
  const clashes: FieldName[] = [];
  const taken: FieldName[] = [];
  for (const field of allFields) {
    const value = together(field, base, mine, theirs);
    merged[field] = value === undefined ? mine[field] : value.is;
    if (value === undefined) clashes.push(field);
    else if (!sameValue(field, mine, { ...mine, [field]: value.is })) taken.push(field);
  }
  return { merged: merged as unknown as Definition, clashes, taken };
}

/** together is a field of both; undefined: they disagree. */
function together(field: FieldName, base: Definition, mine: Definition, theirs: Definition): { is: unknown } | undefined {
  if (sameValue(field, mine, theirs) || sameValue(field, base, theirs)) return { is: mine[field] };
  if (sameValue(field, base, mine)) return { is: theirs[field] };
  if (field === "instructions") {
    const text = mergeLines(base.instructions, mine.instructions, theirs.instructions);
    return text === undefined ? undefined : { is: text };
  }
  if (isList(field)) return { is: mergeLists(base[field], mine[field], theirs[field]) };
  return undefined;
}

const lists = ["tools", "hosts", "connectors", "mcps", "projects"] as const;
type ListName = (typeof lists)[number];

function isList(field: FieldName): field is ListName {
  return (lists as readonly string[]).includes(field);
}

/** mergeLists has what either added, and nothing that either took away. */
export function mergeLists(base: readonly string[], mine: readonly string[], theirs: readonly string[]): string[] {
  const all = [...new Set([...mine, ...theirs])];
  return all.filter((each) => (base.includes(each) ? mine.includes(each) && theirs.includes(each) : true));
}
