import type { AnswerOf, Api, CallOptions, PathOf } from "@svc/sdk";

/** Verb is a method of the product's API. */
export type Verb = keyof Api;

type Named<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Named<Rest> : never;

/** The workspace is filled in: a page names only what is beyond it. */
type Beyond<Path extends string> = Exclude<Named<Path>, "username" | "business">;

type Parameters<Path extends string> = [Beyond<Path>] extends [never] ? { path?: undefined } : { path: Record<Beyond<Path>, string> };

// What the description leaves open is a text; what is undefined is not sent.
type Open<Query> = { [Name in keyof Query]?: ([NonNullable<Query[Name]>] extends [never] ? string : Query[Name]) | undefined };

type QueryOf<Path extends PathOf<V>, V extends Verb> = CallOptions<Path, V> extends { query?: infer Query } ? { query?: Open<Query> | undefined } : { query?: undefined };

type BodyOf<Path extends PathOf<V>, V extends Verb> = CallOptions<Path, V> extends { body: infer Body }
  ? { body: Body }
  : CallOptions<Path, V> extends { body?: infer Body }
    ? { body?: Body | undefined }
    : { body?: undefined };

/** Asked is what a page says of a call beside its path. */
export type Asked<Path extends PathOf<V>, V extends Verb> = Parameters<Path> & QueryOf<Path, V> & BodyOf<Path, V>;

/** Given are the arguments of a call: none where there is nothing to say. */
export type Given<Asking> = {} extends Asking ? [asking?: Asking] : [asking: Asking];

/** ItemOf is an item of a list. */
export type ItemOf<Path extends PathOf<"get">> = AnswerOf<Path, "get"> extends { items: (infer Item)[] } ? Item : never;

/** ListPath are the paths that answer page by page. */
export type ListPath = { [Path in PathOf<"get">]: AnswerOf<Path, "get"> extends { items: unknown[] } ? Path : never }[PathOf<"get">];

/** nounOf is the part of a path that names what it is about: what changed below it is read again. */
export function nounOf(path: string): string {
  const segments = path.split("/");
  return segments.slice(0, path.includes("{business}") ? 6 : 4).join("/");
}
