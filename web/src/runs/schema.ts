import { isObject } from "./message";

/** Input is a field of a form that is made from a workflow's input schema. */
export interface Input {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly required: boolean;
  readonly kind: "text" | "long" | "number" | "integer" | "switch" | "choice" | "list" | "json";
  readonly choices: readonly string[];
  readonly least: number | undefined;
  readonly most: number | undefined;
  readonly pattern: string | undefined;
  readonly initial: string;
}

/** Typed is what a form holds: a text for each field, as it was typed. */
export type Typed = Readonly<Record<string, string>>;

type Schema = Readonly<Record<string, unknown>>;

/** inputsOf are the fields of a schema; undefined: it is none of an object, and its input is written as JSON. */
export function inputsOf(schema: unknown): Input[] | undefined {
  if (!isObject(schema) || !typesOf(schema).includes("object") || !isObject(schema["properties"])) return undefined;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).map(([name, of]) => inputOf(name, isObject(of) ? of : {}, required.includes(name)));
}

function inputOf(name: string, schema: Schema, required: boolean): Input {
  const choices = Array.isArray(schema["enum"]) ? schema["enum"].filter((each) => typeof each === "string") : [];
  const kind = choices.length > 0 ? "choice" : kindOf(schema);
  const bound = (number: string, length: string): number | undefined => (typeof schema[number] === "number" ? schema[number] : typeof schema[length] === "number" ? (schema[length] as number) : undefined);
  return {
    name, kind, choices, required,
    label: typeof schema["title"] === "string" ? schema["title"] : humane(name),
    help: typeof schema["description"] === "string" ? schema["description"] : "",
    least: bound("minimum", "minLength"),
    most: bound("maximum", "maxLength"),
    pattern: typeof schema["pattern"] === "string" ? schema["pattern"] : undefined,
    initial: textOfValue(schema["default"]),
  };
}

function kindOf(schema: Schema): Input["kind"] {
  const types = typesOf(schema).filter((type) => type !== "null");
  if (types.length !== 1) return "json";
  switch (types[0]) {
    case "string": return typeof schema["maxLength"] === "number" && schema["maxLength"] > 120 ? "long" : "text";
    case "integer": return "integer";
    case "number": return "number";
    case "boolean": return "switch";
    case "array": return isObject(schema["items"]) && typesOf(schema["items"]).join() === "string" && !schema["items"]["enum"] ? "list" : "json";
  }
  return "json";
}

function typesOf(schema: Schema): readonly unknown[] {
  const { type } = schema;
  return Array.isArray(type) ? type : type === undefined ? [] : [type];
}

/** humane is a name of a program as people write it: dryRun is "Dry run". */
export function humane(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").toLowerCase().trim();
  return words ? words[0]!.toUpperCase() + words.slice(1) : name;
}

/** typedOf is a form that holds a value, or what the schema begins with. */
export function typedOf(inputs: readonly Input[], value?: unknown): Typed {
  const given = isObject(value) ? value : {};
  return Object.fromEntries(inputs.map((input) => [input.name, input.name in given ? shown(input, given[input.name]) : input.initial]));
}

function shown(input: Input, value: unknown): string {
  if (input.kind === "list" && Array.isArray(value)) return value.join("\n");
  if (input.kind === "json") return value === undefined ? "" : JSON.stringify(value, undefined, 2);
  return textOfValue(value);
}

function textOfValue(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Checked is what was typed as the workflow's input, or what is wrong with it by the names of fields. */
export interface Checked {
  readonly value: Record<string, unknown>;
  readonly wrong: Readonly<Record<string, string>>;
}

/** check reads a form. What is empty is left out; the service checks again. */
export function check(inputs: readonly Input[], typed: Typed): Checked {
  const value: Record<string, unknown> = {};
  const wrong: Record<string, string> = {};
  for (const input of inputs) {
    const text = typed[input.name] ?? "";
    if (text.trim() === "" && input.kind !== "switch") {
      if (input.required) wrong[input.name] = "This is needed.";
      continue;
    }
    const read = readField(input, text);
    if ("wrong" in read) wrong[input.name] = read.wrong;
    else if (read.value !== undefined) value[input.name] = read.value;
  }
  return { value, wrong };
}

type Read = { readonly value: unknown } | { readonly wrong: string };

function readField(input: Input, text: string): Read {
  switch (input.kind) {
    case "integer": case "number": return readNumber(input, text);
    // A switch that nobody touched, and nobody needs, says nothing.
    case "switch": return { value: text === "true" ? true : text === "false" || input.required ? false : undefined };
    case "list": return { value: text.split("\n").map((line) => line.trim()).filter(Boolean) };
    case "json": return readJson(text);
  }
  if (input.least !== undefined && text.length < input.least) return { wrong: `At least ${input.least} characters.` };
  if (input.most !== undefined && text.length > input.most) return { wrong: `At most ${input.most} characters.` };
  if (input.pattern !== undefined && !matches(input.pattern, text)) return { wrong: "This is not of the form that is asked for." };
  return { value: text };
}

function readNumber(input: Input, text: string): Read {
  const number = Number(text.trim());
  if (!Number.isFinite(number)) return { wrong: "This is no number." };
  if (input.kind === "integer" && !Number.isInteger(number)) return { wrong: "A whole number is asked for." };
  if (input.least !== undefined && number < input.least) return { wrong: `At least ${input.least}.` };
  if (input.most !== undefined && number > input.most) return { wrong: `At most ${input.most}.` };
  return { value: number };
}

/** readJson reads JSON as a person typed it. */
export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { wrong: `This is no JSON: ${error instanceof Error ? error.message : "it cannot be read"}.` };
  }
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // the service knows its own patterns
  }
}
