// An owner invites somebody, changes what they are, puts them into a team, and takes them out. The last owner stays.
// only in the soak
import { ada, arrive, goTo, of, perform, signUp } from "./stage.mjs";
import { accept, call, join, makeWorkspace, person } from "./team.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  const at = of("ada", "labs", "team");
  await signUp(visitor, ada);
  await makeWorkspace(visitor, "labs", "Labs");
  await visitor.open(at);
  await arrive(visitor, "Team");
  await visitor.look("alone", { at, title: "Team · Labs", see: ["ada you", "always an owner here", "What each role may do", "1 person"] });

  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await page.getByLabel("E-mail", { exact: true }).fill("nora@example.com");
  await page.getByLabel(/^Viewer/).check();
  await visitor.picture("invite");
  await page.getByRole("dialog").getByRole("button", { name: "Invite", exact: true }).click();
  const address = await page.getByRole("dialog", { name: "Hand this to nora@example.com" }).locator("code").innerText();
  await visitor.picture("hand-over");
  await page.getByRole("button", { name: "Done" }).click();
  await visitor.look("invited", { at, see: ["nora@example.com", "Invited", "1 pending"] });

  const nora = await enter();
  await signUp(nora, person("nora"));
  await accept(nora, "nora", address);

  await page.reload();
  await arrive(visitor, "Team");
  await page.getByRole("button", { name: /^Role of nora/ }).click();
  await visitor.picture("roles");
  await page.getByRole("menuitemradio", { name: /^Builder/ }).click();
  await page.getByText("nora is builder from the next request on.").waitFor();

  await call(visitor, "POST", "/api/workspaces/ada/labs/projects", { slug: "ops", name: "Ops" });
  await page.getByRole("button", { name: "New team" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Ops");
  await page.getByRole("button", { name: "Make team" }).click();
  const sheet = page.getByRole("dialog", { name: "Ops" });
  await sheet.getByLabel(/^nora/).check();
  await sheet.getByLabel(/^ops/).selectOption("admin");
  await sheet.getByText("Projects 1").waitFor();
  await visitor.picture("team");
  await page.keyboard.press("Escape");
  await visitor.look("team", { at, see: ["ops · admin", "admin in ops", "2 people"] });

  // Somebody who may not change things sees them, and why not.
  await nora.open(at);
  await arrive(nora, "Team");
  await nora.look("builder", { at, see: ["nora you", "Builder", "Owner"], miss: ["Invitations"] });
  const why = await nora.page.getByRole("button", { name: "Invite", exact: true }).getAttribute("title");
  if (why !== "You need the admin role.") nora.blame("builder", `cannot invite because of ${why}`);

  await page.getByRole("button", { name: "More of nora" }).click();
  await page.getByRole("menuitem", { name: "Remove nora" }).click();
  await page.getByLabel("Type nora to confirm").fill("nora");
  await page.getByRole("button", { name: "Remove nora" }).last().click();
  await page.getByText("nora is no longer here.").waitFor();
  await nora.page.reload();
  await arrive(nora, "Workspace");
  await nora.see("removed", { at, status: 404, see: ["Not here, or not yours."] });

  // The last owner who is not the one in the address cannot be made by leaving: the one in the address always stays.
  await join(enter, visitor, "ada/labs", "kofi", "owner");
  await visitor.open(at);
  await arrive(visitor, "Team");
  await page.getByRole("button", { name: /^Role of kofi/ }).click();
  await page.getByRole("menuitemradio", { name: /^Viewer/ }).click();
  await page.getByText("kofi is viewer from the next request on.").waitFor();
  if ((await page.getByRole("button", { name: /^Role of ada/ }).count()) > 0) visitor.blame("last owner", "the role of the one in the address can be changed");
  await goTo(visitor, "Audit");
  await visitor.see("audit", { at: of("ada", "labs", "audit"), see: ["ada"] });
});
