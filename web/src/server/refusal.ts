import type { SvcError } from "@svc/sdk";

/** fieldErrors are what is wrong with the fields of a form, by their names, as `Field` shows them. */
export function fieldErrors(error: SvcError | undefined): Record<string, string> {
  const fields = error?.meta?.["fields"];
  if (!Array.isArray(fields)) return {};
  const told: Record<string, string> = {};
  for (const each of fields as { field?: unknown; type?: unknown }[]) {
    if (typeof each.field === "string") told[each.field] = sentences[String(each.type)] ?? "This is not acceptable.";
  }
  return told;
}

const sentences: Record<string, string> = {
  required: "This is needed.",
  missing: "This is needed.",
  too_short: "This is too short.",
  too_long: "This is too long.",
  taken: "This is taken.",
  invalid: "This is not acceptable.",
  unknown: "Nobody knows this field.",
};
