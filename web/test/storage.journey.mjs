// Somebody follows a link into their workspace, signs up on the way, and sees what it stores and what was done in it.
// only in the soak
import { ada, arrive, goTo, of, perform, signIn, signUp } from "./stage.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await signUp(visitor, ada);
  await goTo(visitor, "Storage");
  await visitor.look("storage", { at: of("ada", "personal", "storage"), title: "Storage · Personal", see: ["of 10 GB used", "Project files", "Room left"] });

  await goTo(visitor, "Audit");
  await visitor.look("audit", { at: of("ada", "personal", "audit"), title: "Audit · Personal", see: ["account.created", "ada"] });
  await visitor.page.locator("tbody tr").first().press("Enter");
  await visitor.page.getByRole("dialog").getByText("As it is exported").waitFor();
  await visitor.picture("audit-event");
  await visitor.page.keyboard.press("Escape");
  await visitor.page.getByRole("dialog").waitFor({ state: "detached" });

  // Signed out, a deep link leads to the sign-in and back.
  const other = await enter();
  await other.open(of("ada", "personal", "storage"));
  await signIn(other, ada);
  await arrive(other, "Storage");
  await other.see("back", { at: of("ada", "personal", "storage") });

  // A range begins where it did when it was chosen, however long it is looked at.
  const patient = await enter();
  await patient.page.clock.install();
  await patient.open(of("ada", "personal", "audit"));
  await signIn(patient, ada);
  await arrive(patient, "Audit");
  const begun = new Set();
  patient.page.on("request", (request) => begun.add(new URL(request.url()).searchParams.get("from")));
  const choose = (range) => Promise.all([patient.page.waitForResponse(/\/audit\?.*from=/), patient.page.getByRole("button", { name: range, exact: true }).click()]);
  await choose("Day");
  await patient.page.clock.fastForward(180_000);
  await patient.page.getByText(/^\d+ min ago$/).first().waitFor();
  await choose("Week");
  begun.delete(null);
  if (begun.size !== 2) patient.blame("range", `begins at ${[...begun].join()}`);

  // A workspace of nobody and one of somebody else look the same.
  await other.open(of("nobody", "nothing", "storage"));
  await arrive(other, "Workspace");
  await other.page.getByText("Not here, or not yours.").waitFor();
  // The page and its frame ask at the same time, and both are told the same.
  if (other.refusals.some((refusal) => refusal.status !== 404)) other.blame("not-here", "is refused otherwise");
  other.refusals = [];
});
