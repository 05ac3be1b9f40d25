/** Program is how a server is started, as a person writes it: one argument a line, one variable a line. */
export interface Program {
  readonly command: string;
  readonly args: string;
  readonly env: string;
}

/** argsIn are the arguments in a text. An empty line is none: an argument that is empty has to be written by a program. */
export function argsIn(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

/** envIn are the variables in a text; undefined: a line is none. */
export function envIn(text: string): Record<string, string> | undefined {
  const env: Record<string, string> = {};
  for (const line of argsIn(text)) {
    const [, name, value] = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    env[name] = value;
  }
  return env;
}

/** variablesOf names the variables that are stored; their values nobody reads back. */
export function variablesOf(names: readonly string[] | undefined): string {
  return names && names.length > 0 ? `${names.join(", ")} stored` : "no variables";
}
