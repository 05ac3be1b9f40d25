import { expect, test } from "vitest";
import { askedOf, choicesOf, isOwnServer, sentence, stateOf, usesOf, type Provider } from "./models";

const provider = (of: Partial<Provider>): Provider => ({
  provider: "anthropic", models: ["large"], url: "https://api.anthropic.com", version: 1, updatedAt: null, default: "", lastCheck: null,
  key: { present: false, owner: "none", updatedAt: null, updatedBy: "" }, ...of,
} as Provider);
const stored: Provider["key"] = { present: true, owner: "workspace", updatedAt: "2026-11-02T10:00:00Z", updatedBy: "acc_1" };
const check = (result: "ok" | "key_refused"): Provider["lastCheck"] => ({ result, message: "", latencyMs: 1, checkedAt: "2026-11-02T10:00:00Z" });
const agent = (name: string, model: string, enabled = true) => ({ name, model, enabled });

test("a provider's state is what the last check found, else what is stored", () => {
  expect(stateOf(provider({})).word).toBe("Not set");
  expect(stateOf(provider({ key: stored })).word).toBe("Key stored");
  expect(stateOf(provider({ key: stored, lastCheck: check("ok") })).word).toBe("Key stored");
  expect(stateOf(provider({ key: stored, lastCheck: check("key_refused") }))).toEqual({ tone: "bad", word: "Refused" });
  expect(stateOf(provider({ key: { ...stored, owner: "service" } })).word).toBe("Service's key");
});

test("a server that speaks as OpenAI does may want no key", () => {
  const own = provider({ provider: "openai", url: "https://models.example.com/v1" });
  expect(isOwnServer(own)).toBe(true);
  expect(stateOf(own).word).toBe("No key");
  expect(isOwnServer(provider({ provider: "openai", url: "https://api.openai.com/v1" }))).toBe(false);
});

test("agents without a choice ask the default, and those that are off ask nothing", () => {
  const overview = { default: "anthropic/large", items: [provider({ key: stored, lastCheck: check("key_refused") }), provider({ provider: "google", url: "https://g" })] };
  const uses = usesOf(overview, [agent("writer", ""), agent("central", ""), agent("clerk", "google/flash"), agent("old", "google/flash", false)]);
  expect(uses).toEqual([
    { model: "anthropic/large", agents: ["central", "writer"], trouble: "refused", isDefault: true },
    { model: "google/flash", agents: ["clerk"], trouble: "no key", isDefault: false },
  ]);
  expect(askedOf(uses, "anthropic")).toBe(2);
  expect(askedOf(uses, "openai")).toBe(0);
});

test("the default can be chosen even where nobody knows its price", () => {
  const overview = { default: "openai/qwen", items: [provider({}), provider({ provider: "scripted", models: ["words"], url: "" })] };
  expect(choicesOf(overview).map((choice) => choice.value)).toEqual(["openai/qwen", "anthropic/large", "scripted/words"]);
});

test("what was said becomes a sentence, and the id of a model stays as it is", () => {
  expect([sentence("the key is unknown"), sentence("Slow down!"), sentence("gpt-5 answers.")]).toEqual(["The key is unknown.", "Slow down!", "gpt-5 answers."]);
});
