import type { AnswerOf } from "@svc/sdk";
import type { Tone } from "../kit/StatusTag";
import type { ItemOf } from "../server/path";

export type Overview = AnswerOf<"/api/workspaces/{username}/{business}/models", "get">;
export type Provider = Overview["items"][number];
export type AgentItem = ItemOf<"/api/workspaces/{username}/{business}/agents">;

/** scripted is the provider that is built in. */
export const scripted = "scripted";

const names: Record<string, string> = { anthropic: "Anthropic", google: "Google", openai: "OpenAI", scripted: "Scripted" };

/** providerName is what a provider is called. */
export function providerName(provider: string): string {
  return names[provider] ?? provider;
}

/** The address of OpenAI itself: one that speaks as it does lies elsewhere, and may want no key. */
const openAi = "https://api.openai.com/v1";

/** isOwnServer reports whether a provider is a server of the workspace's own, which speaks as OpenAI does. */
export function isOwnServer(of: Pick<Provider, "provider" | "url">): boolean {
  return of.provider === "openai" && of.url !== openAi;
}

/** hostOf is an address as people read it. */
export function hostOf(url: string): string {
  return url.replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** isSet reports whether anything can be asked of a provider as things are. */
export function isSet(of: Pick<Provider, "provider" | "url" | "key">): boolean {
  return of.key.present || isOwnServer(of);
}

const refused: Record<string, { tone: Tone; word: string }> = {
  key_refused: { tone: "bad", word: "Refused" },
  unreachable: { tone: "warn", word: "Unreachable" },
  model_unknown: { tone: "warn", word: "Model unknown" },
  address_forbidden: { tone: "bad", word: "Forbidden" },
};

/** stateOf is how a provider stands, in a word: what the last check found comes before what is stored. */
export function stateOf(of: Pick<Provider, "provider" | "url" | "key" | "lastCheck">): { tone: Tone; word: string } {
  if (!isSet(of)) return { tone: "line", word: "Not set" };
  const found = of.lastCheck && refused[of.lastCheck.result];
  if (found) return found;
  if (of.key.owner === "service") return { tone: "info", word: "Service's key" };
  if (!of.key.present) return { tone: "ok", word: "No key" };
  return { tone: "ok", word: "Key stored" };
}

/** Use is a model, and which agents ask it. */
export interface Use {
  model: string;
  agents: string[];
  /** Why those agents fail now; undefined: nothing is known against it. */
  trouble: string | undefined;
  isDefault: boolean;
}

/** usesOf are the models that are asked, the default first: an agent without a choice of its own asks the default. */
export function usesOf(overview: Pick<Overview, "default" | "items">, agents: readonly Pick<AgentItem, "name" | "model" | "enabled" | "shadowed">[]): Use[] {
  const users = new Map<string, string[]>([[overview.default, []]]);
  for (const agent of agents) {
    if (!agent.enabled || agent.shadowed) continue;
    const model = agent.model || overview.default;
    users.set(model, [...(users.get(model) ?? []), agent.name]);
  }
  const uses = [...users].map(([model, names]) => ({ model, agents: names.sort(), trouble: troubleOf(overview.items, model), isDefault: model === overview.default }));
  return uses.sort((a, b) => Number(b.isDefault) - Number(a.isDefault) || a.model.localeCompare(b.model));
}

function troubleOf(providers: readonly Provider[], model: string): string | undefined {
  const provider = providers.find((each) => each.provider === model.split("/")[0]);
  if (!provider || provider.provider === scripted) return undefined;
  if (!isSet(provider)) return "no key";
  return provider.lastCheck && provider.lastCheck.result !== "ok" ? stateOf(provider).word.toLowerCase() : undefined;
}

/** askedOf is how many agents ask a provider. */
export function askedOf(uses: readonly Use[], provider: string): number {
  return uses.filter((use) => use.model.startsWith(`${provider}/`)).reduce((all, use) => all + use.agents.length, 0);
}

/** choicesOf are the models that can be chosen: those of providers that can be asked, first. */
export function choicesOf(overview: Pick<Overview, "items" | "default">): { value: string; label: string; note?: string }[] {
  const all = [...overview.items].sort((a, b) => Number(isSet(b)) - Number(isSet(a)));
  const known = all.flatMap((provider) => {
    const note = provider.provider === scripted ? "built in, repeats words" : isSet(provider) ? undefined : "no key yet";
    return provider.models.map((model) => ({ value: `${provider.provider}/${model}`, label: `${provider.provider}/${model}`, ...(note && { note }) }));
  });
  if (!overview.default || known.some((choice) => choice.value === overview.default)) return known;
  return [{ value: overview.default, label: overview.default }, ...known];
}

/** sentence is what a provider or our own client said, as a sentence. One that begins with the id of a model leaves that as it is. */
export function sentence(text: string): string {
  const whole = /^[a-z]+([\s,.:;]|$)/.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** counted is a number with its noun. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}
