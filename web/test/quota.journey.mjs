// A workspace is full: that is said in figures, reading and deleting still work, and then there is room again.
// only in the soak
// with SVC_LIMIT_STORAGE=1MiB
import { ada, arrive, goTo, of, perform, signUp } from "./stage.mjs";
import { composer, equal, say, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  await goTo(visitor, "Projects");
  await page.getByRole("main").getByRole("button", { name: "New project" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("Archive");
  await page.getByRole("button", { name: "Create project" }).click();
  await arrive(visitor, "Archive");
  const upload = (name, kilobytes) => page.locator("input[type=file]").first().setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.alloc(kilobytes * 1024, "a line of text that is stored\n") });
  await upload("first.txt", 600);
  await page.getByText("1 file uploaded").waitFor();

  // The second does not fit.
  await upload("second.txt", 600);
  await page.getByText(/too much: this needs 600 KB, and \d+ KB of 1 MB are left/).waitFor();
  await visitor.look("refused", { at: of("ada", "personal", "projects/archive/files"), status: 507, see: ["What takes the room", "Try again"] });

  // Work that was admitted fills the rest; then prompts are refused as uploads are.
  const prompt = (instance, body) => page.evaluate(([at, body]) => fetch(at, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ kind: "user", body }) }).then((answer) => answer.status), [`/v1/ada/personal/agents/central/${instance}`, body]);
  const state = () => page.evaluate(() => fetch("/api/workspaces/ada/personal/storage").then((answer) => answer.json()).then((storage) => storage.state));
  if ((await prompt("large", "n=370 size=1200")) !== 202) throw new Error("a prompt was refused while there was room");
  // What conversations hold is measured from time to time, for the page and for prompts apart.
  for (const end = Date.now() + 30_000; (await state()) !== "over" || (await prompt("small", "n=1")) !== 507; await page.waitForTimeout(500)) {
    if (Date.now() > end) throw new Error(`the workspace is ${await state()}, and prompts are admitted`);
  }
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 507);

  // The chat says so too, and keeps what was written until there is room.
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Chat" }).click();
  await composer(visitor).waitFor();
  await say(visitor, "n=2 when there is room");
  await page.getByRole("alert").getByText("The workspace has no room for this.").waitFor();
  const unsent = page.url();
  await visitor.look("unsent", { at: unsent, status: 507, see: ["n=2 when there is room", "Retry", "Delete something"] });

  // It can still be read, and what is deleted is free at once.
  await goTo(visitor, "Projects");
  await page.getByRole("link", { name: /Archive/ }).or(page.getByRole("row", { name: /Archive/ })).first().click();
  await arrive(visitor, "Archive");
  await page.getByRole("treeitem", { name: "first.txt" }).click();
  const editor = page.getByRole("textbox", { name: "Text of first.txt" });
  await editor.waitFor();
  await editor.click();
  await page.keyboard.insertText("more\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("What you typed stays here.").waitFor();
  await visitor.look("unsaved", { at: of("ada", "personal", "projects/archive/files/first.txt"), status: 507, see: ["Delete something, then try again."] });
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByLabel("Type first.txt to confirm").fill("first.txt");
  await page.getByRole("button", { name: "Delete file" }).click();
  await visitor.at(of("ada", "personal", "projects/archive/files"));

  for (let back = 0; back < 10 && page.url() !== unsent; back++) await page.goBack();
  await page.locator(".standing").getByRole("button", { name: "Retry" }).click();
  await settled(visitor, 1);
  await equal(visitor, "sent");
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 404); // the deleted file was passed on the way
  await goTo(visitor, "Storage");
  await visitor.look("after", { at: of("ada", "personal", "storage"), see: ["of 1 MB used"] });
});
