// A workspace is full: that is said in figures, reading and deleting still work, and then there is room again.
// only in the soak
// with SVC_LIMIT_STORAGE=1MiB
import { ada, arrive, goTo, of, perform, signUp } from "./stage.mjs";

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
  const talk = "/v1/ada/personal/agents/central/quota";
  const prompt = (body) => page.evaluate(([at, body]) => fetch(at, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ kind: "user", body }) }).then((answer) => answer.status), [talk, body]);
  const state = () => page.evaluate(() => fetch("/api/workspaces/ada/personal/storage").then((answer) => answer.json()).then((storage) => storage.state));
  if ((await prompt("n=400 size=1200")) !== 202) throw new Error("a prompt was refused while there was room");
  for (const end = Date.now() + 30_000; (await state()) !== "over"; await page.waitForTimeout(200)) {
    if (Date.now() > end) throw new Error(`the workspace is ${await state()}`);
  }
  const refused = await prompt("n=1");
  if (refused !== 507) throw new Error(`a prompt of a full workspace was answered ${refused}`);
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 507);

  // It can still be read, and what is deleted is free at once.
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

  const again = await prompt("n=1");
  if (again !== 202) throw new Error(`after deleting a prompt is answered ${again}`);
  await goTo(visitor, "Storage");
  await visitor.look("after", { at: of("ada", "personal", "storage"), see: ["of 1 MB used"] });
});
