import type { Attempt } from "./attempt.js";
import { newKey, segment, type Connection, type HeadersOf } from "./connection.js";
import { badResponse } from "./error.js";
import { tails, type paths } from "./generated/paths.js";

type Verb = "get" | "put" | "post" | "patch" | "delete";

/** PathOf are the paths of the product's API that a verb has. */
export type PathOf<V extends Verb> = { [P in keyof paths]: paths[P] extends Record<V, { responses: unknown }> ? P : never }[keyof paths];

type Operation<P extends keyof paths, V extends Verb> = paths[P] extends Record<V, infer O> ? O : never;
type Parameters<O, Where extends string> = O extends { parameters: { [W in Where]?: infer T } } ? ([T] extends [never] ? never : NonNullable<T>) : never;

// A property that is optional where all that it holds is, and absent where it holds nothing.
type Given<Name extends string, T> = [T] extends [never] ? {} : {} extends T ? { [N in Name]?: T } : { [N in Name]: T };

type Content<T> = T extends { content: infer C } ? C : never;
type BodyOf<O> = O extends { requestBody: infer B }
  ? { body: Sent<Content<B>> }
  : O extends { requestBody?: infer B }
    ? [Content<NonNullable<B>>] extends [never]
      ? {}
      : { body?: Sent<Content<NonNullable<B>>> }
    : {};
type Sent<C> = C extends { "application/json": infer J } ? J : BodyInit;

type Success = 200 | 201 | 202 | 204 | 206;
type Answered<O> = O extends { responses: infer R } ? { [S in keyof R]: S extends Success ? Told<R[S]> : never }[keyof R] : never;
type Told<R> = R extends { content: infer C } ? (C extends { "application/json": infer J } ? J : [C] extends [never] ? undefined : Blob) : undefined;

/** CallOptions are what a call needs beside its path, and how it is made. */
export type CallOptions<P extends keyof paths, V extends Verb> = Given<"path", Parameters<Operation<P, V>, "path">> &
  Given<"query", Parameters<Operation<P, V>, "query">> &
  BodyOf<Operation<P, V>> & { headers?: HeadersOf | undefined; idempotencyKey?: string | undefined; signal?: AbortSignal | undefined };

/** AnswerOf is what a call answers: JSON, a Blob where it is a file, or nothing. */
export type AnswerOf<P extends keyof paths, V extends Verb> = Answered<Operation<P, V>>;

type Arguments<P extends keyof paths, V extends Verb> = {} extends CallOptions<P, V> ? [options?: CallOptions<P, V>] : [options: CallOptions<P, V>];

type Call<V extends Verb> = <P extends PathOf<V>>(path: P, ...options: Arguments<P, V>) => Promise<AnswerOf<P, V>>;

/** Api is the product's API by its paths, as its description has them. */
export type Api = { [V in Verb]: Call<V> };

interface AnyOptions {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: HeadersOf;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** api calls the routes of the product at the host of the mount. What changes something has a key, so that it is done once. */
export function api(connection: Connection): Api {
  const verb = (method: string) => (path: string, options: AnyOptions = {}) => call(connection, method, path, options);
  return { get: verb("GET"), put: verb("PUT"), post: verb("POST"), patch: verb("PATCH"), delete: verb("DELETE") } as unknown as Api;
}

async function call(connection: Connection, method: string, path: string, options: AnyOptions): Promise<unknown> {
  const { body, headers, signal } = options;
  const url = connection.site(fill(path, options.path ?? {}));
  for (const [name, value] of Object.entries(options.query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) url.searchParams.append(name, String(one));
  }
  const idempotencyKey = method === "GET" ? undefined : (options.idempotencyKey ?? newKey());
  const read = (response: Response, attempt: Attempt): Promise<unknown> => answer(response, attempt, connection.timing.idle);
  return connection.patiently({ method, url, headers, idempotencyKey, signal, accept: "*/*", ...encoded(body) }, read);
}

/** fill puts values into a path. A last one may have slashes where the description says so. */
function fill(path: string, values: Record<string, string | number>): string {
  const tail = tails.some((end) => path.endsWith(end));
  return path.replace(/\{(\w+)\}/g, (place, name: string, at: number) => {
    const value = String(values[name] ?? "");
    const last = at + place.length === path.length;
    return tail && last ? value.split("/").map(segment).join("/") : segment(value);
  });
}

function encoded(body: unknown): { body?: BodyInit; contentType?: string } {
  if (body === undefined) return {};
  if (body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return { body: body as BodyInit };
  return { body: JSON.stringify(body), contentType: "application/json" };
}

async function answer(response: Response, attempt: Attempt, patience: number): Promise<unknown> {
  if (response.status === 204) return undefined;
  if (!/\bjson\b/.test(response.headers.get("content-type") ?? "")) return attempt.blob(response, patience);
  const text = await attempt.text(response, patience);
  try {
    return JSON.parse(text);
  } catch {
    throw badResponse(response, "The answer is not JSON.");
  }
}
