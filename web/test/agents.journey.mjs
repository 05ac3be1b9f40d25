// Ada writes an agent and tries it. Meanwhile she edits it in another browser too: what is written in both is put together, and the reply that
// only in the soak
// had begun ends by the version that it began with. (interface.md 10.27)
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ada, arrive, given, goTo, hold, of, perform, signIn, signUp } from "./stage.mjs";

const words = 200; // for twenty seconds

await perform(async (enter) => {
  const one = await enter();
  await signUp(one, ada);
  await goTo(one, "Agents");
  await one.look("agents-none", { at: of("ada", "personal", "agents"), title: "Agents · Personal", see: ["Write your first specialist", "central"] });

  await one.page.getByRole("link", { name: "Writer" }).click();
  await arrive(one, "New agent");
  await one.look("agent-new", { at: of("ada", "personal", "agents?new=writer"), title: "New agent · Agents · Personal" });
  await one.page.getByLabel("Name", { exact: true }).fill("Not a name");
  await one.page.getByRole("button", { name: "Make agent" }).click();
  await one.page.getByText("with single dashes between them").waitFor();
  await one.page.getByLabel("Name", { exact: true }).fill("writer");
  await one.page.getByRole("button", { name: "Make agent" }).click();
  await arrive(one, "writer");

  // Both browsers have the same version before them.
  const two = await enter();
  await two.open(of("ada", "personal", "agents/writer"));
  await signIn(two, ada);
  await arrive(two, "writer");
  const theirs = two.page.getByLabel("Instructions");
  await theirs.fill((await theirs.inputValue()).replace("You write for customers.", "You write for customers of the shop."));
  await two.page.getByLabel("Description").fill("Theirs.");
  const mine = one.page.getByLabel("Instructions");
  await mine.fill(`${await mine.inputValue()}\n\nNever two exclamation marks.`);
  await one.page.getByLabel("Description").fill("Mine.");

  // A long reply begins by v1, and the agent becomes v2 meanwhile.
  await one.page.getByRole("textbox", { name: "Message" }).fill(`n=${words} delay=100`);
  await one.page.keyboard.press("Enter");
  await one.page.getByText("word3 ").waitFor();
  await one.page.waitForURL(/agents\/writer\?.*try=try-/);
  await two.page.getByRole("button", { name: "Save as v2" }).click();
  await two.page.getByText("v2. Work in flight stays on v1.").waitFor();
  if (!(await one.page.getByRole("button", { name: "Stop" }).isVisible())) one.blame("reply", "had ended before the agent was saved");

  // Here other lines were changed: nothing is lost, and what both changed is asked.
  await one.page.keyboard.press("Control+s");
  await one.page.getByRole("alert").getByText("Somebody saved writer").waitFor();
  one.refusals = one.refusals.filter((refusal) => refusal.status !== 412); // it may have been read before it was sent
  await one.picture("agent-conflict");
  await one.page.getByRole("button", { name: "Compare" }).click();
  await one.page.getByText("of the shop").first().waitFor();
  await one.picture("agent-merge");
  await one.page.getByRole("radio", { name: "Yours" }).check();
  await one.page.getByRole("button", { name: "Use the merge" }).click();
  await one.page.getByRole("button", { name: "Save as v3" }).click();
  await one.page.getByText("v3. Work in flight stays on v2.").waitFor();
  const merged = await mine.inputValue();
  for (const text of ["customers of the shop", "Never two exclamation marks"]) if (!merged.includes(text)) one.blame("merge", `lost ${text}: ${merged}`);

  // The reply ends by v1, whole; the next is by v3.
  await one.page.getByText(`word${words - 1}`).waitFor();
  await one.page.locator(".try .foot").getByText(/^v1\b/).waitFor();
  await one.page.getByRole("textbox", { name: "Message" }).fill("n=2");
  await one.page.keyboard.press("Enter");
  await one.page.locator(".try .foot").getByText(/^v3\b/).waitFor();
  one.refusals = one.refusals.filter((refusal) => refusal.status !== 412); // the first saving may have been answered late
  await one.look("agent", { at: /\/agents\/writer\?.*try=try-/, title: "writer · Agents · Personal", see: ["v3", "Saved"] });
  const said = await one.page.evaluate(async () => {
    const id = new URLSearchParams(location.search).get("try");
    const history = await (await fetch(`/v1/ada/personal/agents/writer/${id}?view=history`)).json();
    return history.messages.filter((message) => message.role === "assistant").map((message) => message.metadata.agentVersion);
  });
  if (said.join() !== "1,3") one.blame("versions", `the replies are of ${said}`);

  // What was can be looked at, and made again.
  await one.page.getByRole("button", { name: /^More: versions/ }).click();
  await one.page.getByRole("menuitem", { name: "Versions" }).click();
  await one.page.getByRole("link", { name: /^v1/ }).click();
  await one.page.getByRole("heading", { name: "v1 → v3" }).waitFor();
  await one.page.getByText("Never two exclamation marks.").waitFor();
  await one.look("agent-version", { at: of("ada", "personal", "agents/writer/versions/1"), see: ["Restore as v4"] });
  await one.page.getByRole("button", { name: "Restore as v4" }).click();
  await one.page.getByText("v4 says what v1 said").waitFor();

  await writeWhileSaving(one);
  await leaveUnsaved(one);
  await exportAndImport(one);
  await deleteByName(one);
});

// writeWhileSaving goes on writing while a save is on its way, and presses the key again: what is new is the next draft.
async function writeWhileSaving(visitor) {
  const { page } = visitor;
  const description = page.getByLabel("Description");
  const { sent, letGo } = await hold(visitor, "PATCH", /\/agents\/writer$/);
  await description.fill("Saved.");
  await page.keyboard.press("Control+s");
  await sent;
  await description.fill("Saved. And more.");
  await page.keyboard.press("Control+s");
  await letGo();
  await page.getByText("v5. Work in flight stays on v4.").waitFor();
  await page.getByRole("button", { name: "Save as v6" }).waitFor();
  const written = await description.inputValue();
  if (written !== "Saved. And more.") visitor.blame("saving", `leaves ${written}`);
  await page.getByRole("button", { name: "Discard" }).click();
  const saved = await description.inputValue();
  if (saved !== "Saved.") visitor.blame("saving", `has saved ${saved}`);
}

// leaveUnsaved leaves a page with a draft: one is asked, and the draft is there when one comes back.
async function leaveUnsaved(visitor) {
  await visitor.page.getByLabel("Description").fill("A draft.");
  await visitor.page.getByRole("link", { name: "Audit" }).click();
  await visitor.page.getByRole("dialog", { name: "Leave writer unsaved?" }).waitFor();
  await visitor.picture("agent-leave");
  await visitor.page.getByRole("button", { name: "Leave, keep the draft" }).click();
  await arrive(visitor, "Audit");
  await visitor.open(of("ada", "personal", "agents/writer"));
  await arrive(visitor, "writer");
  const kept = await visitor.page.getByLabel("Description").inputValue();
  if (kept !== "A draft.") visitor.blame("draft", `is ${kept}`);
  await visitor.page.getByRole("button", { name: "Discard" }).click();
}

// exportAndImport brings an agent back as the file that it left as.
async function exportAndImport(visitor) {
  await visitor.page.getByRole("button", { name: /^More: versions/ }).click();
  const leaving = visitor.page.waitForEvent("download");
  await visitor.page.getByRole("menuitem", { name: "Export as .md" }).click();
  const file = await leaving;
  const kept = join(given.shots, "writer.md");
  await file.saveAs(kept);
  const text = readFileSync(kept, "utf8").replace("name: writer", "name: second");
  await goTo(visitor, "Agents");
  await visitor.page.getByLabel("Agent file").setInputFiles({ name: "second.md", mimeType: "text/markdown", buffer: Buffer.from(text) });
  await arrive(visitor, "second");
  await visitor.page.getByText("second is here.").waitFor();
}

// deleteByName deletes an agent that another asks: that is said first.
async function deleteByName(visitor) {
  await visitor.page.getByLabel("ask_agent").check();
  await visitor.page.getByLabel("writer", { exact: true }).check();
  await visitor.page.getByRole("button", { name: "Save as v2" }).click();
  await visitor.page.getByText("v2. Work in flight").waitFor();
  await visitor.page.getByRole("link", { name: /^writer/ }).click();
  await arrive(visitor, "writer");
  await visitor.page.getByRole("button", { name: /^More: versions/ }).click();
  await visitor.page.getByRole("menuitem", { name: "Switch off" }).click();
  await visitor.page.getByText("writer is off").waitFor();
  await visitor.page.getByRole("button", { name: /^More: versions/ }).click();
  await visitor.page.getByRole("menuitem", { name: "Delete" }).click();
  const dialog = visitor.page.getByRole("dialog", { name: "Delete agent" });
  await dialog.getByText("This agent asks it, and will be refused").waitFor();
  await visitor.picture("agent-delete");
  await dialog.getByLabel("Type writer to confirm").fill("writer");
  await dialog.getByRole("button", { name: "Delete agent" }).click();
  await arrive(visitor, "Agents");
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 404); // it may have been read once more on the way
  await visitor.see("agents-left", { at: of("ada", "personal", "agents"), see: ["second", "writer is gone"] });
}
