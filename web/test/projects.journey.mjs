// Somebody makes a project, uploads files into it, edits one while others write it too, and loses nothing.
import { ada, arrive, goTo, hold, of, perform, signUp } from "./stage.mjs";

const note = "notes/today.md";
const text = "# Today\n\none\ntwo\nthree\n\n- [x] done\n- [ ] **open**\n";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  await goTo(visitor, "Projects");
  await visitor.look("none", { at: of("ada", "personal", "projects"), title: "Projects · Personal", see: ["A place for files", "New project"] });

  await page.getByRole("main").getByRole("button", { name: "New project" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("Night Shift");
  await visitor.picture("new");
  await page.getByRole("button", { name: "Create project" }).click();
  await arrive(visitor, "Night Shift");
  await visitor.look("empty", { at: of("ada", "personal", "projects/night-shift/files"), title: "Night Shift · Projects · Personal", see: ["No files yet", "0 files", "Connect a repository"] });

  // Several files at once, one of them in a folder, and what is there already is not replaced unasked.
  const upload = (files) => page.locator("input[type=file]").first().setInputFiles(files);
  await upload([
    { name: "prices.csv", mimeType: "text/csv", buffer: Buffer.from("name,price\na,1\n") },
    { name: "README.md", mimeType: "text/markdown", buffer: Buffer.from(text) },
  ]);
  await page.getByRole("treeitem", { name: "README.md" }).waitFor();
  await page.getByText("2 files uploaded").waitFor();
  await upload([{ name: "prices.csv", mimeType: "text/csv", buffer: Buffer.from("name,price\na,2\n") }]);
  await page.getByText("is there already").waitFor();
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 412);
  await visitor.picture("taken");
  await page.getByRole("button", { name: "Replace it" }).click();
  await page.getByText("3 files uploaded").waitFor();
  await page.getByRole("button", { name: "Dismiss" }).first().click();

  // A file with its folder, written in the editor and saved by the keyboard.
  await page.getByRole("button", { name: "New file" }).click();
  await page.getByLabel("Path", { exact: true }).fill("notes//today.md");
  await page.getByRole("button", { name: "Create file" }).click();
  await page.getByText("A path has no empty part").waitFor();
  await page.getByLabel("Path", { exact: true }).fill(note);
  await page.getByRole("button", { name: "Create file" }).click();
  const editor = page.getByRole("textbox", { name: `Text of ${note}` });
  await editor.click();
  await page.keyboard.insertText(text);
  await page.getByText("unsaved line").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("Saved by ada").waitFor();
  await visitor.look("file", { at: of("ada", "personal", "projects/night-shift/files/notes/today.md"), title: `${note} · Night Shift · Projects · Personal`, see: ["Markdown · UTF-8", "3 files"] });
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("region", { name: "Preview" }).getByText("open", { exact: true }).waitFor();
  await visitor.look("preview", { at: /view=preview$/, see: ["Today", "done"] });
  await page.getByRole("button", { name: "Edit", exact: true }).click();

  // Somebody else writes while nothing is typed: it stands here by itself, and says so.
  const address = "/api/workspaces/ada/personal/projects/night-shift/files/notes/today.md";
  const write = (body) => page.evaluate(([at, body]) => fetch(at, { method: "PUT", body: new Blob([body]) }).then((answer) => answer.status), [address, body]);
  const read = () => page.evaluate((at) => fetch(at).then((answer) => answer.text()), address);
  if ((await write(text.replace("two", "TWO"))) !== 200) throw new Error("the other could not write");
  await page.getByText("Edited by ada").waitFor();
  await editor.getByText("TWO").waitFor();
  await visitor.picture("news");
  await page.getByRole("button", { name: "Dismiss" }).first().click();

  // Both write, and what is typed while the other text is read stays. A draft outlives a reload, the save is refused, and both changes are joined.
  const reading = await hold(visitor, "GET", /\/files\/notes\/today\.md$/);
  if ((await write(text.replace("two", "TWO").replace("three", "THREE"))) !== 200) throw new Error("the other could not write");
  await reading.sent;
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("mine at the end\n");
  await reading.letGo();
  await page.getByText("Your draft is kept.").waitFor();
  await page.getByText("Draft kept in this browser").waitFor();
  await page.waitForFunction(() => Object.keys(localStorage).some((name) => name.startsWith("svc.draft.")));
  await page.reload();
  await editor.getByText("mine at the end").waitFor();
  if ((await write(text.replace("one", "ONE").replace("two", "TWO"))) !== 200) throw new Error("the other could not write");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Yours is not saved yet").waitFor();
  await visitor.look("conflict", { at: of("ada", "personal", "projects/night-shift/files/notes/today.md"), status: 412, see: ["Take theirs", "Compare", "Save mine"] });
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText("Both changes fit together").waitFor();
  await visitor.look("compare", { at: of("ada", "personal", "projects/night-shift/files/notes/today.md"), see: ["Save merged", "Back to mine"] });
  await page.getByRole("button", { name: "Save merged" }).click();
  await page.getByText("Saved by ada").waitFor();
  const saved = await read();
  if (saved !== text.replace("one", "ONE").replace("two", "TWO") + "mine at the end\n") throw new Error(`merged into ${JSON.stringify(saved)}`);

  // By the keyboard alone: the tree opens and closes, and leads to a file.
  await page.getByRole("treeitem", { name: "today.md" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("treeitem", { name: "today.md" }).waitFor({ state: "detached" });
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await visitor.at(of("ada", "personal", "projects/night-shift/files/README.md"));

  // It is moved with what is not saved of it, and deleted by its name.
  await page.getByRole("textbox", { name: "Text of README.md" }).click();
  await page.keyboard.insertText("Moved unsaved. ");
  await page.waitForFunction(() => Object.keys(localStorage).some((name) => /^svc\.draft\..*README\.md$/.test(name)));
  await page.getByRole("button", { name: "Move", exact: true }).click();
  await page.getByLabel("Path", { exact: true }).fill("docs/about.md");
  await page.getByRole("dialog").getByRole("button", { name: "Move", exact: true }).click();
  await visitor.at(of("ada", "personal", "projects/night-shift/files/docs/about.md"));
  await page.getByRole("textbox", { name: "Text of docs/about.md" }).getByText("Moved unsaved.").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved by ada").waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByLabel("Type about.md to confirm").fill("about.md");
  await visitor.picture("delete");
  await page.getByRole("button", { name: "Delete file" }).click();
  await visitor.at(of("ada", "personal", "projects/night-shift/files"));
  await page.getByRole("treeitem", { name: "docs" }).waitFor({ state: "detached" });

  // Repository and access say what is missing.
  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Repository" }).click();
  await page.getByText("GitHub is not set up on this server").waitFor();
  await visitor.look("repository", { at: of("ada", "personal", "projects/night-shift/repository"), title: "Repository · Night Shift · Projects · Personal" });
  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Access" }).click();
  await page.getByText("No team has a role here").waitFor();
  await visitor.look("access", { at: of("ada", "personal", "projects/night-shift/access"), title: "Access · Night Shift · Projects · Personal" });

  await goTo(visitor, "Projects");
  await visitor.look("list", { at: of("ada", "personal", "projects"), see: ["Night Shift"] });
  await page.getByLabel("Find projects").fill("nothing");
  await page.getByText("Nothing matches").waitFor();
  await visitor.see("filtered", { at: of("ada", "personal", "projects?q=nothing") });
  await goTo(visitor, "Storage");
  await visitor.look("storage", { at: of("ada", "personal", "storage"), see: ["By project", "Night Shift"] });

  // What is not there is said plainly.
  await visitor.open(of("ada", "personal", "projects/nothing/files"));
  await page.getByText("Not here, or not yours.").waitFor();
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 404);
  await visitor.open(of("ada", "personal", "projects/night-shift/files/nothing.md"));
  await page.getByText("There is no file nothing.md").waitFor();
});
