// Keys of providers, tried against servers that answer as the providers do: one that is refused says why, one that is taken answers,
// and from then on so does the chat.
// only in the soak
// with SVC_MODEL_ALLOW_PRIVATE=127.0.0.0/8
import { ada, arrive, ask, of, perform, signUp } from "./stage.mjs";
import { composer, say, settled } from "./chat.mjs";

const models = of("ada", "personal", "settings/models");

await perform(async (enter) => {
  const visitor = await enter();
  await signUp(visitor, ada);
  await visitor.open(models);
  await arrive(visitor, "Settings");
  const { address, key } = await ask("model server", { api: "anthropic", replies: [{ text: ["Good morning, ", "Ada."] }] });
  const row = visitor.page.getByRole("region", { name: "Anthropic" });
  await place(visitor, "Anthropic", address);
  await refused(visitor, row);
  await taken(visitor, row, key);
  await answers(visitor);
  await ownServer(visitor);
  await removed(visitor, row);
});

// place says where a provider is.
async function place(visitor, name, address, key) {
  const { page } = visitor;
  await page.getByRole("button", { name: `More of ${name}` }).click();
  await page.getByRole("menuitem", { name: /Change the address/ }).click();
  const dialog = page.getByRole("dialog", { name: `Address of ${name}` });
  await dialog.getByLabel("Address", { exact: true }).fill(address);
  if (key) await dialog.getByLabel("Key optional", { exact: true }).fill(key);
  await dialog.getByRole("button", { name: "Store and test" }).click();
  await dialog.waitFor({ state: "detached" });
}

// refused pastes a key that the provider does not know.
async function refused(visitor, row) {
  await row.getByLabel("Anthropic key").fill("sk-wrong-0123456789");
  await row.getByRole("button", { name: "Store and test" }).click();
  await row.getByText("key_refused").waitFor();
  await row.getByText("Refused", { exact: true }).waitFor();
  await visitor.look("refused", { at: models, see: ["Refused", "key_refused", "1 needs you"], miss: ["sk-wrong"] });
}

// taken replaces it by the right one.
async function taken(visitor, row, key) {
  const { page } = visitor;
  await row.getByRole("button", { name: "Replace" }).click();
  const dialog = page.getByRole("dialog", { name: "Replace the key of Anthropic" });
  await dialog.getByLabel("Key", { exact: true }).fill(key);
  await dialog.getByRole("button", { name: "Store and test" }).click();
  await dialog.waitFor({ state: "detached" });
  await row.getByText("Key stored", { exact: true }).waitFor();
  await row.getByText(/answers\. In/).waitFor();
  await page.getByText("it follows from the key that was stored first").waitFor();
  await visitor.look("taken", { at: models, see: ["Key stored", "by you", "it cannot be read back"], miss: [key, "built-in scripted model", "needs you"] });
}

// answers asks the chat, where the real model speaks now, and the set-up knows of the key.
async function answers(visitor) {
  const { page } = visitor;
  await visitor.open(of("ada", "personal", "chat"));
  await composer(visitor).waitFor();
  await page.getByText("2 of 5 done").waitFor();
  await visitor.look("chat", { at: /\/chat/, miss: ["built-in scripted model"] });
  await say(visitor, "Hello?");
  await settled(visitor, 1);
  await page.getByRole("log").getByText("Good morning, Ada.").waitFor();
  await visitor.open(models);
  await arrive(visitor, "Settings");
}

// ownServer has a server of one's own that speaks as OpenAI does.
async function ownServer(visitor) {
  const { address, key } = await ask("model server", { api: "openai-chat", replies: [{ text: ["ok"] }] });
  const row = visitor.page.getByRole("region", { name: "OpenAI" });
  await place(visitor, "OpenAI", address, key);
  await row.getByText("compatible server").waitFor();
  await row.getByText("Tested").waitFor();
  await visitor.look("own-server", { at: models, see: ["compatible server", "127.0.0.1"] });
}

// removed takes a key away: it is destroyed, and said so.
async function removed(visitor, row) {
  const { page } = visitor;
  await page.getByRole("button", { name: "More of Anthropic" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await page.getByLabel("Type anthropic to confirm").fill("anthropic");
  await visitor.picture("remove");
  await page.getByRole("button", { name: "Remove Anthropic" }).click();
  await page.getByText("Anthropic is no longer set here.").waitFor();
  await row.getByText("Not set").waitFor();
}
