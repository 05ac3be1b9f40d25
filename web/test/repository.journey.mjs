// A project follows a repository: GitHub is not there, then it is and is not connected, somebody has to approve, and then files come.
// What is changed here stays, and says so.
// only in the soak
// with GitHub
import { ada, arrive, ask, becomeAdministrator, bob, given, of, openAdmin, perform, signUp } from "./stage.mjs";
import { approveAs, setUpGitHub } from "../../internal/browser/people.mjs";
import { call } from "./team.mjs";

const tab = of("bob", "personal", "projects/site/repository");

await perform(async (enter) => {
  const visitor = await enter();
  await signUp(visitor, bob);
  await visitor.open(of("bob", "personal", "projects"));
  await arrive(visitor, "Projects");
  await call(visitor, "POST", "/api/workspaces/bob/personal/projects", { name: "Site" });
  await visitor.open(tab);
  await visitor.page.getByText("GitHub is not set up on this server").waitFor();
  await visitor.look("not-set-up", { at: tab, title: "Repository · Site · Projects · Personal", see: ["Whoever runs the service connects it once"] });

  const staff = await enter();
  await becomeAdministrator(staff, ada, openAdmin);
  await setUpGitHub(staff);
  await asStaff(staff);

  await connects(visitor);
  await follows(visitor);
  await pulls(visitor);
  await changes(visitor);
});

// asStaff sees why staff cannot connect it for them.
async function asStaff(staff) {
  await staff.open(`${given.admin}/w/bob/personal/projects/site/repository`);
  const button = staff.page.getByRole("button", { name: "Connect GitHub" });
  await button.waitFor();
  if (!/themselves/.test(await button.getAttribute("title"))) staff.blame("staff", "are not told why they cannot connect GitHub");
  await staff.picture("staff");
}

// connects goes to GitHub: one's own account first, which is missing, then an organisation whose owner has to approve, then one's own.
async function connects(visitor) {
  const { page } = visitor;
  await visitor.open(tab);
  await page.getByRole("link", { name: "Connect GitHub" }).waitFor();
  await visitor.look("unconnected", { at: tab, see: ["Follow a repository"] });
  await visitor.follow("Connect GitHub");
  await visitor.look("account-first", { at: /\/api\/auth\/oauth\/github\/install\?/, status: 409, see: ["Connect your GitHub account first."] });
  await ask("only requests", { on: true });
  await visitor.follow("Connect GitHub");
  await approveAs(visitor, "octocat");
  await page.getByLabel("Account").selectOption("acme");
  await visitor.press("Approve");
  await visitor.at(tab);
  await page.getByText("Waiting for approval.").waitFor();
  await visitor.look("pending", { at: tab, see: ["An organisation owner must approve the app on GitHub."] });

  await ask("only requests", { on: false });
  await visitor.follow("Connect GitHub");
  await page.getByLabel("Account").selectOption("octocat");
  await visitor.press("Approve");
  await visitor.at(tab);
}

// follows names what is not there, and then what is.
async function follows(visitor) {
  const { page } = visitor;
  await ask("push", { Repository: "octocat/hello-world", Files: { "README.md": "# Hello\n", "notes.txt": "one\n" } });
  const form = page.getByRole("form", { name: "Follow a repository" });
  await form.getByLabel("Repository", { exact: true }).fill("nothing-there");
  await visitor.picture("form");
  await form.getByRole("button", { name: "Connect" }).click();
  await form.locator("[role=alert], [aria-invalid=true]").first().waitFor();
  visitor.refusals = visitor.refusals.filter((refusal) => ![400, 403, 502].includes(refusal.status));
  await visitor.picture("no-such-repository");
  await form.getByLabel("Repository", { exact: true }).fill("hello-world");
  await form.getByLabel("Branch").fill("never");
  await form.getByRole("button", { name: "Connect" }).click();
  await form.getByText("The repository has no such branch.").waitFor();
  visitor.settle("branch", 400);
  await form.getByLabel("Branch").fill("");
  await form.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("heading", { name: /octocat\/hello-world/ }).waitFor();
  await visitor.look("followed", { at: tab, see: ["its default branch · GitHub", "Never"] });
}

// pulls shows that it works at it, also after a reload, and what came.
async function pulls(visitor) {
  const { page } = visitor;
  await ask("slow git", { Milliseconds: 4_000 });
  await page.getByRole("button", { name: "Pull", exact: true }).click();
  await page.getByRole("button", { name: "Pulling" }).waitFor();
  await visitor.picture("pulling");
  await page.getByText("2 written, 0 deleted").waitFor();
  await page.waitForFunction(() => document.body.innerText.replace(/\s+/g, " ").includes("Files 2")); // the count is read after
  await visitor.look("pulled", { at: tab, see: ["Pulled", "Files 2"] });
  await page.getByRole("button", { name: "Pull", exact: true }).click();
  await page.getByText("nothing new").waitFor();
}

// changes writes here what is changed there too: it stays, and the pull says so.
async function changes(visitor) {
  const { page } = visitor;
  const status = await page.evaluate(async () => (await fetch("/api/workspaces/bob/personal/projects/site/files/notes.txt", { method: "PUT", body: new Blob(["mine\n"]) })).status);
  if (status !== 200) visitor.blame("changes", `a file was answered ${status}`);
  await ask("push", { Repository: "octocat/hello-world", Files: { "README.md": "# Hello again\n", "notes.txt": "two\n" } });
  await page.getByRole("button", { name: "Pull", exact: true }).click();
  await page.getByText("One file was changed here and there.").waitFor();
  await visitor.look("conflict", { at: tab, see: ["notes.txt", "1 file changed here and there", "What is here stays."] });
  await page.getByRole("button", { name: "Disconnect…" }).click();
  await page.getByLabel("Type octocat/hello-world to confirm").fill("octocat/hello-world");
  await page.getByRole("button", { name: "Disconnect", exact: true }).click();
  await page.getByText("Disconnected. The files stay.").waitFor();
}
