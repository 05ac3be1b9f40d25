import type { AnswerOf } from "@svc/sdk";
import type { Tone } from "../kit/StatusTag";
import type { ItemOf } from "../server/path";

/** Person is somebody among all. */
export type Person = ItemOf<"/api/admin/people">;

/** Acquaintance is somebody with where they are signed in. */
export type Acquaintance = AnswerOf<"/api/admin/people/{id}", "get">;

type Standing = Pick<Person, "suspended" | "eraseAt" | "email" | "emailVerified">;

/** standingOf is how somebody stands, in a word. */
export function standingOf(person: Standing): { tone: Tone; word: string } {
  if (person.eraseAt) return { tone: "bad", word: "Deleted" };
  if (person.suspended) return { tone: "bad", word: "Suspended" };
  if (person.email && !person.emailVerified) return { tone: "warn", word: "E-mail unverified" };
  return { tone: "ok", word: "Active" };
}

const words: Record<string, string> = { owner: "Owner", admin: "Admin", builder: "Builder", viewer: "Viewer", billing: "Billing" };
const order = Object.keys(words);

/** roleOf is what somebody is: their role over the service, else the highest that they have in a workspace. */
export function roleOf(person: { serviceRole: string; workspaces: readonly { role: string }[] }): { word: string; staff: boolean } {
  if (person.serviceRole === "admin") return { word: "Service admin", staff: true };
  if (person.serviceRole === "support") return { word: "Support", staff: true };
  const highest = [...person.workspaces].sort((a, b) => order.indexOf(a.role) - order.indexOf(b.role))[0];
  return { word: highest ? (words[highest.role] ?? highest.role) : "–", staff: false };
}

/** businessesOf are the workspaces of somebody in a few words. The one that everybody has is named where there is no other. */
export function businessesOf(workspaces: readonly { business: string }[], most = 3): string {
  const all = workspaces.map((each) => each.business);
  const others = all.filter((name) => name !== "personal");
  const names = others.length > 0 ? others : all;
  if (names.length === 0) return "–";
  return names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

const browsers: readonly [RegExp, string][] = [[/Edg\//, "Edge"], [/Firefox\//, "Firefox"], [/(HeadlessChrome|Chrome|Chromium)\//, "Chrome"], [/Safari\//, "Safari"], [/curl\//, "curl"]];
const systems: readonly [RegExp, string][] = [[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/Mac OS X/, "macOS"], [/Windows/, "Windows"], [/Linux|X11/, "Linux"]];

/** deviceName is a browser as people call it: "Firefox on Linux". */
export function deviceName(userAgent: string): string {
  const find = (known: readonly [RegExp, string][]): string | undefined => known.find(([mark]) => mark.test(userAgent))?.[1];
  const [browser, system] = [find(browsers), find(systems)];
  if (browser && system) return `${browser} on ${system}`;
  return browser ?? system ?? "An unknown program";
}

const waysIn: Record<string, string> = { password: "Password", github: "GitHub" };

/** waysOf are how somebody signs in. */
export function waysOf(methods: readonly string[]): string {
  return methods.map((each) => waysIn[each] ?? each).join(", ") || "No way in";
}
