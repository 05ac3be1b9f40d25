/** Said is a message of a run as its events carry it. The contract calls their shape unstable, so each field is looked at. */
export interface Said {
  readonly role: "user" | "assistant" | "toolResult";
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly Called[];
  /** The call that a tool's result answers. */
  readonly toolCallId: string | undefined;
  readonly toolName: string | undefined;
  readonly isError: boolean;
  readonly model: string | undefined;
  readonly errorMessage: string | undefined;
}

/** Called is a tool that a model asked for. */
export interface Called {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

type Loose = Readonly<Record<string, unknown>>;

/** saidOf reads a message; undefined: it is none that is shown. */
export function saidOf(message: unknown): Said | undefined {
  if (!isObject(message)) return undefined;
  const { role } = message;
  if (role !== "user" && role !== "assistant" && role !== "toolResult") return undefined;
  const blocks = blocksOf(message["content"]);
  const provider = textOf(message["provider"]);
  const model = textOf(message["model"]);
  return {
    role,
    text: blocks.map((block) => (block["type"] === "text" ? textOf(block["text"]) : undefined)).filter(Boolean).join("\n"),
    thought: blocks.map((block) => (block["type"] === "thinking" ? textOf(block["thinking"]) ?? textOf(block["text"]) : undefined)).filter(Boolean).join("\n"),
    calls: blocks.filter((block) => block["type"] === "toolCall").map((block) => ({ id: textOf(block["id"]) ?? "", name: textOf(block["name"]) ?? "", input: block["arguments"] ?? block["input"] })),
    toolCallId: textOf(message["toolCallId"]),
    toolName: textOf(message["toolName"]),
    isError: message["isError"] === true,
    model: model && (provider ? `${provider}/${model}` : model),
    errorMessage: textOf(message["errorMessage"]),
  };
}

/** resultText is what a model saw of a tool's result. */
export function resultText(result: unknown): string {
  if (typeof result === "string") return result;
  if (!isObject(result)) return result === undefined ? "" : JSON.stringify(result);
  return blocksOf(result["content"]).map((block) => textOf(block["text"]) ?? "").filter(Boolean).join("\n");
}

/** argumentOf is the part of an input that tells one call from another: its first value that fits into a row. */
export function argumentOf(input: unknown): string {
  if (typeof input === "string") return firstLine(input);
  if (!isObject(input)) return "";
  for (const value of Object.values(input)) {
    if (typeof value === "string" && value.trim()) return firstLine(value);
    if (typeof value === "number") return String(value);
    if (Array.isArray(value) && typeof value[0] === "string") return firstLine(value.join(", "));
  }
  return "";
}

const longest = 120;

export function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}

function blocksOf(content: unknown): readonly Loose[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

export function isObject(value: unknown): value is Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
