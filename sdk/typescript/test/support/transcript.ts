// The transcripts of the server (httpapi/testdata): what it answers, byte for byte. Their README says how they read.
import { readFileSync, readdirSync } from "node:fs";
import { offset } from "./fake.js";

const folder = new URL("../../../../httpapi/testdata/", import.meta.url);

export interface Exchange {
  method: string;
  target: string;
  headers: Headers;
  body: string;
  answer: { status: number; headers: Headers; body: string; open: boolean };
}

export interface Transcript {
  name: string;
  exchanges: Exchange[];
}

export function transcripts(): Transcript[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".txtar"))
    .map((file) => ({ name: file.replace(".txtar", ""), exchanges: parse(readFileSync(new URL(file, folder), "utf8")) }));
}

function parse(text: string): Exchange[] {
  const names = new Names();
  const files = text.split(/^-- (?:request|request until|response) --\n/m).slice(1).map((file) => file.replace(/\n$/, ""));
  const exchanges: Exchange[] = [];
  for (let i = 0; i + 1 < files.length; i += 2) {
    const [line, headers, body] = split(names.fill(files[i]!));
    const [status, answered, told] = split(names.fill(files[i + 1]!));
    const [method = "", target = ""] = line.split(" ");
    const open = told.endsWith("<still open>");
    const answer = { status: Number(status.split(" ")[1]), headers: answered, body: told.replace(/<(still open|end of body)>$/, ""), open };
    exchanges.push({ method, target, headers, body, answer });
  }
  return exchanges;
}

function split(text: string): [line: string, headers: Headers, body: string] {
  const [head = "", ...rest] = text.split("\n\n");
  const [line = "", ...lines] = head.split("\n");
  const headers = new Headers();
  for (const header of lines) {
    const colon = header.indexOf(":");
    headers.append(header.slice(0, colon), header.slice(colon + 1).trim().replace(/[^\x20-\x7e]/g, "?"));
  }
  return [line, headers, rest.join("\n\n")];
}

/** Names puts something in the place of each placeholder, the same throughout a transcript where that is meant. */
class Names {
  readonly #known = new Map<string, string>();

  fill(text: string): string {
    let position = 0;
    return text.replace(/\{\{([^{}]+)\}\}/g, (_, inner: string) => {
      const [name = "", ...rest] = inner.split(":");
      const argument = rest.join(":");
      switch (name) {
        case "iso":
          return "2026-07-01T12:05:00.120Z";
        case "int":
          return "7";
        case "host":
          return "svc.example";
        case "position":
          return `{"batch":${++position},"index":0}`;
        case "offset":
          return offset(Number(argument));
        case "repeat":
          return argument.slice(argument.indexOf(":") + 1).repeat(Number(argument.split(":")[0]));
        case "byte":
          return "\u{fffd}";
        case "direct":
        case "dispatch":
          return `entry_${name}_${Buffer.from(this.#id(argument)).toString("base64url")}`;
        case "etag":
          return `"tag:${argument}"`;
        case "events":
          return events(argument);
      }
      return this.#id(inner);
    });
  }

  #id(name: string): string {
    const known = this.#known.get(name);
    if (known) return known;
    const n = String(this.#known.size + 1);
    const kind = name.replace(/\d+$/, "");
    const uuid = `00000000-0000-4000-8000-${n.padStart(12, "0")}`;
    const made: Record<string, string> = { uuid, at: offset(40 + Number(n)), entry: `entry_${uuid}` };
    const id = made[kind] ?? `${kind === "runId" ? "run" : kind}_${n.padStart(26, "0")}`;
    this.#known.set(name, id);
    return id;
  }
}

function events(range: string): string {
  const [from = 0, to = 0] = range.split("-").map(Number);
  const all = Array.from({ length: to - from + 1 }, (_, i) => ({ type: "log", level: "info", message: "m", v: 3, eventIndex: from + i }));
  return all.map((e) => JSON.stringify(e)).join(",");
}
